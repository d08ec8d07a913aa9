import { setImmediate } from "node:timers/promises";

/** How long one stream may keep the process before the others get their turn. */
const turnMs = 5;

/**
 * One stream's share of the event loop. As long as the network takes what is written at once, a stream of answers goes
 * from microtask to microtask and would keep every other call, and even its own cancellation, waiting.
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
