import { setImmediate } from "node:timers/promises";

/** How long one stream may occupy the event loop. */
const turnMs = 5;

/**
 * One stream's share of the event loop. As long as the network accepts writes at once, a stream of answers continues
 * from microtask to microtask and would block all other calls, and even its own cancellation.
 */
export class Turn {
  #startedMs = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#startedMs > turnMs;
  }

  /** Lets everything else run, then begins the next turn. */
  async next(): Promise<void> {
    await setImmediate();
    this.#startedMs = performance.now();
  }
}
