import { setImmediate } from "node:timers/promises";

/** How long one stream or transaction may occupy the event loop. */
const turnMsDefault = 5;

/**
 * The share of the event loop that one piece of work has. As long as the network accepts writes at once, a stream of
 * answers continues from microtask to microtask, and so do reads of the database one after the other: they would block
 * all other calls, and even their own cancellation.
 */
export class Turn {
  readonly #turnMs: number;
  #startedMs = performance.now();

  /** A turn of so many milliseconds. */
  constructor(turnMs = turnMsDefault) {
    this.#turnMs = turnMs;
  }

  get isOver(): boolean {
    return performance.now() - this.#startedMs > this.#turnMs;
  }

  /** Lets everything else run, then begins the next turn. */
  async next(): Promise<void> {
    await setImmediate();
    this.#startedMs = performance.now();
  }
}
