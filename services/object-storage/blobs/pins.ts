/**
 * Blobs that the sweep must keep although no manifest refers to them: those just written whose transaction has not
 * ended, and those of a deleted object that is still being read. They are held in memory, because a crash ends both.
 */
export class BlobPins {
  readonly #counts = new Map<string, number>();

  /** Pins the blobs until the returned function is called; further calls of it do nothing. */
  pin(blobIds: readonly string[]): () => void {
    for (const blobId of blobIds) this.#counts.set(blobId, (this.#counts.get(blobId) ?? 0) + 1);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      for (const blobId of blobIds) this.#release(blobId);
    };
  }

  isPinned(blobId: string): boolean {
    return this.#counts.has(blobId);
  }

  #release(blobId: string): void {
    const count = this.#counts.get(blobId) ?? 0;
    if (count > 1) this.#counts.set(blobId, count - 1);
    else this.#counts.delete(blobId);
  }
}
