/**
 * What many timers of one instant are to do: a few pieces of work in each turn of the event loop, in their order, so
 * that all else waits for a few only.
 */
export class FewATurn {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  #left: number;
  #isCounting = false;

  /** At most so many pieces in a turn. */
  constructor(max: number) {
    this.#max = max;
    this.#left = max;
  }

  /** Does a piece of work now, or in one of the next turns. */
  run(work: () => void): void {
    if (!this.#isCounting) {
      this.#isCounting = true;
      setImmediate(this.#next);
    }
    if (this.#left === 0) this.#waiting.push(work);
    else {
      this.#left -= 1;
      work();
    }
  }

  /** The next turn. */
  readonly #next = (): void => {
    const works = this.#waiting.splice(0, this.#max);
    this.#left = this.#max - works.length;
    this.#isCounting = works.length > 0;
    if (this.#isCounting) setImmediate(this.#next);
    for (const work of works) work();
  };
}
