import type { Engine, RawEntry, RawWrites, Snapshot } from "../../../services/kit/store/engine.ts";
import { StoreClosedError } from "../../../services/kit/store/errors.ts";

/** An engine that forgets everything, whose writes a test can hold back or let fail. */
export interface MemoryEngine extends Engine {
  /** How many writes were asked for. */
  readonly writes: number;
  /** Holds back every write until the returned function is called. */
  hold(): () => void;
  /** Makes the next write fail with this error and write nothing. */
  failNext(error: Error): void;
}

export const memoryEngine = (): MemoryEngine => {
  let records: ReadonlyMap<string, Uint8Array> = new Map();
  let held: Promise<void> | undefined;
  let failure: Error | undefined;
  let writes = 0;

  const snapshot = (): Snapshot => {
    const seen = records;
    let isClosed = false;
    const assertOpen = (): void => {
      if (isClosed) throw new StoreClosedError("this transaction has ended");
    };
    return {
      get(key) {
        assertOpen();
        return seen.get(key)?.slice();
      },
      async *scan({ low, high }, reverse) {
        const keys = [...seen.keys()].filter((key) => key >= low && key < high).toSorted();
        if (reverse) keys.reverse();
        for (const key of keys) {
          await Promise.resolve();
          assertOpen();
          yield [{ key, payload: (seen.get(key) as Uint8Array).slice() } satisfies RawEntry];
        }
      },
      close: async () => void (isClosed = true),
    };
  };

  const write = async (changes: RawWrites): Promise<void> => {
    writes += 1;
    await held;
    if (failure !== undefined) {
      const error = failure;
      failure = undefined;
      throw error;
    }
    const next = new Map(records);
    for (const [key, payload] of changes) {
      if (payload === undefined) next.delete(key);
      else next.set(key, payload);
    }
    records = next;
  };

  return {
    get writes() {
      return writes;
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return () => {
        held = undefined;
        resolve();
      };
    },
    failNext: (error) => void (failure = error),
    snapshot,
    write,
    erase: async () => {},
    close: async () => {},
  };
};
