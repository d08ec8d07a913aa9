import { hold } from "../wire/lent-memory.ts";

type Result<T> = Promise<IteratorResult<T>>;

/** One attempt to send the requests of a stream. */
interface RequestsAttempt<T> {
  readonly requests: AsyncIterable<T>;
  /** The server answers: from now on the caller's iterable is closed when no more of it is needed. */
  commit(): void;
}

/**
 * The requests of a stream, which can be sent again from the start as long as at most the first message was read: only
 * that one is kept. A message for which a failed attempt waited goes to the next attempt.
 */
export class ReplayableRequests<T> {
  readonly #source: AsyncIterator<T>;
  readonly #held = new Map<number, Result<T>>();
  #messages = 0;
  #isReplayable = true;
  #isClosed = false;

  constructor(source: AsyncIterable<T>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** False if more was read than is kept, or the caller's iterable threw. */
  get isReplayable(): boolean {
    return this.#isReplayable;
  }

  /** Starts again with the first message. One attempt at a time. */
  attempt(): RequestsAttempt<T> {
    let index = 0;
    let isCommitted = false;
    let isLeft = false;
    const next = (): Result<T> => {
      const result = this.#held.get(index) ?? this.#pull(index);
      if (!this.#isReplayable) for (const held of this.#held.keys()) if (held <= index) this.#held.delete(held);
      index += 1;
      return result;
    };
    const leave = (): Result<T> => {
      isLeft = true;
      if (isCommitted) this.close();
      return Promise.resolve({ done: true, value: undefined });
    };
    return {
      requests: { [Symbol.asyncIterator]: () => ({ next, return: leave }) },
      commit: () => {
        isCommitted = true;
        if (isLeft) this.close();
      },
    };
  }

  /** No attempt follows. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#held.clear();
    void Promise.resolve(this.#source.return?.()).catch(() => {});
  }

  #pull(index: number): Result<T> {
    const result = this.#source.next();
    if (this.#isReplayable) this.#held.set(index, result);
    result.then(
      ({ done, value }) => {
        // Another attempt may need it, however this one has ended.
        if (this.#isReplayable && value instanceof Uint8Array) hold(value);
        if (done !== true) this.#messages += 1;
        if (this.#messages > 1) this.#isReplayable = false;
      },
      () => {
        this.#isReplayable = false;
      },
    );
    return result;
  }
}
