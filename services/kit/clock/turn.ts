/** How long one stream or transaction may occupy the event loop, and how long all that have waited together. */
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
    await nextTurn();
    this.#startedMs = performance.now();
  }
}

/**
 * Lets everything else run. What waits goes on in its order, in one round of the event loop as many as have time
 * together: who needs whole turns is not in the way of others the longer, the more of them there are.
 */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    waiting.push(resolve);
    setImmediate(goOn);
  });

/** Each of them has scheduled `goOn` once. */
const waiting: (() => void)[] = [];
/** Undefined: none has gone on in this round. */
let roundStartedMs: number | undefined;

const goOn = (): void => {
  const nowMs = performance.now();
  if (roundStartedMs === undefined) {
    roundStartedMs = nowMs;
    setImmediate(endRound);
  }
  if (nowMs - roundStartedMs > turnMsDefault) setImmediate(goOn);
  else waiting.shift()?.();
};

/** Was scheduled before all that goes on in the next round. */
const endRound = (): void => {
  roundStartedMs = undefined;
};
