/**
 * Blobs that must stay although no manifest refers to them: those just written whose transaction has not ended, and
 * those that a reader of a deleted object still needs. They are held in memory, because a crash ends both.
 */
export class BlobPins {
  readonly #counts = new Map<string, number>();

  /** Keeps the blobs until the function that it returns is called, once. */
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
