import { randomBytes } from "node:crypto";
import { rmSync, statSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";

const chunkBytes = 1024 * 1024;

/** A file that reserves room on a disk, to be released when the disk is full. */
export class Ballast {
  readonly #path: string;
  readonly bytes: number;
  #isHeld: boolean;

  /** `bytes` 0: no ballast. A file of another size, left by another setting or a crash, is removed. */
  constructor(path: string, bytes: number) {
    this.#path = path;
    this.bytes = bytes;
    this.#isHeld = bytes > 0 && statSync(path, { throwIfNoEntry: false })?.size === bytes;
    rmSync(`${path}.new`, { force: true });
    if (!this.#isHeld) rmSync(path, { force: true });
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Frees the room at once. */
  release(): void {
    rmSync(this.#path, { force: true });
    this.#isHeld = false;
  }

  /** Reserves the room. Rejects, and leaves no file, if there is too little. */
  async hold(): Promise<void> {
    const path = `${this.#path}.new`;
    // Random, so that no file system compresses it.
    const chunk = randomBytes(chunkBytes);
    try {
      const file = await open(path, "wx");
      try {
        for (let left = this.bytes; left > 0; left -= chunkBytes) await file.writeFile(chunk.subarray(0, left));
      } finally {
        await file.close();
      }
      await rename(path, this.#path);
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
    this.#isHeld = true;
  }
}
