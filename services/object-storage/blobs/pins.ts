/**
 * Blobs that the sweep must keep although no manifest refers to them: those just written whose transaction has not
 * ended, those of a deleted object that is still being read, and all while a backup copies them. They are held in
 * memory, because a crash ends each of these.
 */
export class BlobPins {
  readonly #counts = new Map<string, number>();
  #holds = 0;

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

  /** Pins all blobs, those of later too, until the returned function is called; further calls of it do nothing. */
  holdAll(): () => void {
    this.#holds += 1;
    let isReleased = false;
    return () => {
      if (!isReleased) this.#holds -= 1;
      isReleased = true;
    };
  }

  isPinned(blobId: string): boolean {
    return this.#holds > 0 || this.#counts.has(blobId);
  }

  #release(blobId: string): void {
    const count = this.#counts.get(blobId) ?? 0;
    if (count > 1) this.#counts.set(blobId, count - 1);
    else this.#counts.delete(blobId);
  }
}
