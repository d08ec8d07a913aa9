/**
 * What streamed bodies may take in one turn of the event loop: about one read of the network. With more, others wait
 * longer, and bodies are not read at less cost.
 */
const turnBytes = 64 * 1024;

/**
 * The shares of streamed bodies in the event loop. Without them, a turn of the loop reads all that has arrived for all
 * bodies, and everybody else waits for it: a small request needs a few turns, and the platform accepts one connection
 * in each. So bodies together take a part of a turn and go on in later ones, in the order in which they had to wait.
 */
export class ReadingTurns {
  readonly #waiting: (() => void)[] = [];
  #left = turnBytes;
  #isScheduled = false;

  /** Counts what a body has read. Returns whether it must not read on before `goOn` is called, in a later turn. */
  take(bytes: number, goOn: () => void): boolean {
    this.#left -= bytes;
    this.#schedule();
    if (this.#left > 0) return false;
    this.#waiting.push(goOn);
    return true;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#begin());
  }

  #begin(): void {
    this.#isScheduled = false;
    this.#left = turnBytes;
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) this.#schedule();
  }
}
