import { setTimeout as delay } from "node:timers/promises";

import type { TransactionRun } from "./transaction-run.ts";
import type { WriteSet } from "./write-set.ts";

/** A caller's transaction that waits to be committed: its function, its latest run, and the caller's promise. */
export interface PendingTransaction {
  /** Older transactions have lower numbers and are committed first. */
  readonly order: number;
  /** Why nobody waits for this transaction any more; undefined while somebody does. */
  readonly givenUp: { readonly reason: unknown } | undefined;
  readonly attempt: TransactionRun;
  readonly attempts: number;
  readonly bytes: number;
  /** It did not finish in time inside a group, so it only runs outside of one. */
  readonly isSlow: boolean;
  /** How long its latest run took, in milliseconds. */
  readonly lastRunMs: number;
  /** Runs the function again on top of the changes. Returns false if that exceeds the limit. */
  runWithin(ahead: WriteSet, limitMs: number): Promise<boolean>;
  expectOutcome(): Promise<boolean>;
  succeed(): void;
  lose(): void;
  fail(error: unknown): void;
}

/** How a run ended. A thrown refusal is an outcome like any other: it may rest on changes that are not durable yet. */
type Ending<T> = { readonly result: T } | { readonly refusal: unknown };

/** Who waits for a transaction: the given signal, and the call in which it was begun. */
interface Waiter {
  readonly signal: AbortSignal | undefined;
  readonly givenUp: (() => Error | undefined) | undefined;
}

export class TransactionCommit<T> implements PendingTransaction {
  readonly order: number;
  readonly #waiter: Waiter;
  readonly #run: (attempt: TransactionRun) => Promise<T> | T;
  readonly #begin: (ahead?: WriteSet) => TransactionRun;
  #attempt: TransactionRun | undefined;
  #ending: Ending<T> | undefined;
  #outcome: PromiseWithResolvers<boolean> | undefined;
  #abandoned: Promise<unknown> | undefined;
  attempts = 0;
  isSlow = false;
  lastRunMs = 0;

  constructor(
    order: number,
    waiter: Waiter,
    run: (attempt: TransactionRun) => Promise<T> | T,
    begin: (ahead?: WriteSet) => TransactionRun,
  ) {
    this.order = order;
    this.#waiter = waiter;
    this.#run = run;
    this.#begin = begin;
  }

  get attempt(): TransactionRun {
    if (this.#attempt === undefined) throw new Error("this transaction has not been run");
    return this.#attempt;
  }

  get bytes(): number {
    return this.attempt.changes.bytes;
  }

  /** The result of the function's latest run; throws if that run threw. */
  get result(): T {
    if (this.#ending === undefined) throw new Error("this transaction has not been run");
    if ("refusal" in this.#ending) throw this.#ending.refusal;
    return this.#ending.result;
  }

  get givenUp(): { readonly reason: unknown } | undefined {
    const { signal, givenUp } = this.#waiter;
    if (signal?.aborted === true) return { reason: signal.reason };
    const reason = givenUp?.();
    return reason && { reason };
  }

  /** Runs the function on the committed state. Rejects if nobody waits for it any more. */
  async run(): Promise<void> {
    // Two runs of one function never overlap: an abandoned one may not have ended yet.
    if (this.#abandoned !== undefined) await this.#abandoned;
    if (this.givenUp !== undefined) throw this.givenUp.reason;
    this.#attempt?.release();
    this.#attempt = this.#begin();
    this.#ending = await this.#runOnce(this.#attempt);
  }

  async runWithin(ahead: WriteSet, limitMs: number): Promise<boolean> {
    this.#attempt?.release();
    const attempt = this.#begin(ahead);
    this.#attempt = attempt;
    const timer = new AbortController();
    const running = this.#runOnce(attempt);
    const ending = await Promise.race([
      running,
      delay(limitMs, undefined, { signal: timer.signal }).catch(() => undefined),
    ]);
    timer.abort();
    if (ending === undefined) {
      this.isSlow = true;
      this.#abandoned = running;
      await attempt.end();
      return false;
    }
    this.#ending = ending;
    return true;
  }

  /** Releases the memory that is kept to check the latest run. */
  release(): void {
    this.#attempt?.release();
  }

  expectOutcome(): Promise<boolean> {
    this.#outcome = Promise.withResolvers();
    return this.#outcome.promise;
  }

  succeed(): void {
    this.#outcome?.resolve(true);
  }

  lose(): void {
    this.#outcome?.resolve(false);
  }

  fail(error: unknown): void {
    this.#outcome?.reject(error);
  }

  async #runOnce(attempt: TransactionRun): Promise<Ending<T>> {
    this.attempts += 1;
    const beginMs = performance.now();
    try {
      return { result: await this.#run(attempt) };
    } catch (refusal) {
      attempt.discard();
      return { refusal };
    } finally {
      this.lastRunMs = performance.now() - beginMs;
      const ending = attempt.end();
      if (ending !== undefined) await ending;
    }
  }
}
