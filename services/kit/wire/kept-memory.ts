/** More is not kept. */
const keptBytesMax = 1024 * 1024;

/**
 * Memory in which large texts and messages are put together before they are copied: each would begin with memory of its
 * own otherwise, and leave several pieces of it to the collector. One user has it at a time, without waiting for
 * anything; others get new memory.
 */
export class KeptMemory {
  #kept: Buffer | undefined;

  /** At least so many bytes. */
  take(bytes: number): Buffer {
    const kept = this.#kept;
    if (kept === undefined || kept.length < bytes) return Buffer.allocUnsafeSlow(bytes);
    this.#kept = undefined;
    return kept;
  }

  /** The one who took it, or memory of more bytes with the same content, no longer uses it. */
  giveBack(memory: Buffer): void {
    if (memory.length <= keptBytesMax && memory.length > (this.#kept?.length ?? 0)) this.#kept = memory;
  }
}
