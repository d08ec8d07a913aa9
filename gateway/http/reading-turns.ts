/** What streamed bodies may take in one turn of the event loop. */
const turnBytes = 512 * 1024;
/** The same in a turn after one in which a connection arrived. */
const arrivalTurnBytes = 64 * 1024;
/** What a body takes at once, about. */
const pieceBytes = 64 * 1024;

/**
 * The shares of streamed bodies in the event loop. Without them, a turn of the loop reads all that has arrived for all
 * bodies, and everybody else waits for it: a small request needs a few turns, and the platform accepts one connection
 * in each. So bodies together take a part of a turn and go on in later ones, in the order in which they had to wait.
 */
export class ReadingTurns {
  readonly #waiting: (() => void)[] = [];
  #left = turnBytes;
  #isArriving = false;
  #isScheduled = false;

  /** A connection was accepted; others may wait for the next turn. */
  arrive(): void {
    this.#isArriving = true;
    this.#left = Math.min(this.#left, arrivalTurnBytes);
    this.#schedule();
  }

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
    this.#left = this.#isArriving ? arrivalTurnBytes : turnBytes;
    this.#isArriving = false;
    const next = this.#waiting.splice(0, Math.ceil(this.#left / pieceBytes));
    for (const goOn of next) goOn();
    if (this.#waiting.length > 0) this.#schedule();
  }
}
