/** Steps that one decision may take: characters that are compared or put together, in some 30 ms. */
const stepsMax = 5_000_000;

/** What comparing the patterns of policies with a request may cost. It counts steps, so it depends on nothing else. */
export class MatchingWork {
  #left = stepsMax;

  /** Takes steps that are about to be done, or were. Throws TooMuchMatchingError if they are too many. */
  take(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new TooMuchMatchingError();
  }

  /** Allows more, for another decision of the same call. */
  grow(steps: number): void {
    this.#left += steps;
  }
}

/** The policies would take too long to compare with the request. */
export class TooMuchMatchingError extends Error {
  constructor() {
    super("the policies take too long to compare with the request");
    this.name = "TooMuchMatchingError";
  }
}
