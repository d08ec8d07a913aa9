import { AsyncLocalStorage } from "node:async_hooks";

import type { TraceContext } from "./trace-context.ts";
import { traceHeaders } from "./trace-context.ts";

/** Work within a trace. The trace is determined only when it is sent on or logged. */
export interface Traced {
  readonly trace: TraceContext;
  /** Why nobody waits for this work any more; undefined while somebody does. Unset: nobody is told that it failed. */
  readonly givenUp?: (() => Error | undefined) | undefined;
}

const current = new AsyncLocalStorage<Traced>();

/** Runs a function, and everything that it waits for, as part of this work. */
export const runTraced = <T>(work: Traced, run: () => T): T => current.run(work, run);

/** Runs a function, and everything that it waits for, as part of no work. */
export const runUntraced = <T>(run: () => T): T => current.exit(run);

/** The trace of the running work; undefined outside of any traced work. */
export const currentTrace = (): TraceContext | undefined => current.getStore()?.trace;

/** How the running work finds out that it was given up; undefined outside of a call. */
export const currentGivenUp = (): (() => Error | undefined) | undefined => current.getStore()?.givenUp;

/** The headers with which the running work sends its trace on; none outside of any traced work. */
export const currentTraceHeaders = (): Record<string, string> => {
  const trace = currentTrace();
  return trace === undefined ? {} : traceHeaders(trace);
};

/** Binds a function to the work that runs now, for later calls. */
export const keepingTrace = <A extends readonly unknown[], T>(run: (...given: A) => T): ((...given: A) => T) => {
  const work = current.getStore();
  return work === undefined ? run : (...given) => current.run(work, () => run(...given));
};

/** Runs the steps of an iteration as part of this work; a generator alone would run as part of its reader's work. */
export const iterateTraced = <T>(work: Traced, make: () => AsyncIterable<T>): AsyncIterable<T> => {
  const iterator = runTraced(work, () => make()[Symbol.asyncIterator]());
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => runTraced(work, () => iterator.next()),
      return: async () => (await runTraced(work, () => iterator.return?.())) ?? { done: true, value: undefined },
    }),
  };
};
