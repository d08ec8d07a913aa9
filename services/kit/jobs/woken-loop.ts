import { untraced } from "../trace/traced-call.ts";

/** What a loop does. */
interface LoopParts {
  /** One pass. */
  readonly step: () => Promise<void>;
  /** A pass threw. */
  readonly onTrouble: (error: unknown) => void;
  /** No pass runs, and the loop was not woken again. */
  readonly onRest: () => void;
}

/** Repeats a step as long as it is woken; never runs it twice at the same time. */
export class WokenLoop {
  readonly #parts: LoopParts;
  #isWoken = false;
  #active: PromiseWithResolvers<void> | undefined;

  constructor(parts: LoopParts) {
    this.#parts = parts;
  }

  get isActive(): boolean {
    return this.#active !== undefined;
  }

  /** Runs the step, once more if it runs now. */
  wake(): void {
    this.#isWoken = true;
    if (this.#active !== undefined) return;
    this.#active = Promise.withResolvers();
    // A pass serves the work of all traces.
    void untraced(() => this.#run());
  }

  /** Resolves when no pass runs. */
  async rested(): Promise<void> {
    await this.#active?.promise;
  }

  async #run(): Promise<void> {
    while (this.#isWoken) {
      this.#isWoken = false;
      try {
        await this.#parts.step();
      } catch (error) {
        this.#parts.onTrouble(error);
      }
    }
    const active = this.#active;
    this.#active = undefined;
    this.#parts.onRest();
    active?.resolve();
  }
}
