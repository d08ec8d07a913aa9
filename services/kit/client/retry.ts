import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";

import { isUnprocessed } from "../wire/unprocessed.ts";

/** How often and how soon a call is made again. */
export interface RetryPolicy {
  /** The first time and all repetitions together; at least one for each address. 1: nothing is repeated. */
  readonly attemptsMax: number;
  /** The pause before the first repetition at an address that failed; each later one is twice as long. */
  readonly delayMsMin: number;
  readonly delayMsMax: number;
}

export const defaultRetryPolicy: RetryPolicy = { attemptsMax: 4, delayMsMin: 50, delayMsMax: 1000 };

/**
 * True for a failure after which the call may be made again: nobody has begun to handle it, or the server went away and
 * the method's idempotency level says that repeating it is harmless.
 */
export const mayRepeat = (method: DescMethod, error: unknown): boolean =>
  isUnprocessed(error) || (isRepeatable(method) && isUnavailable(error));

/** True for a failure that says something about its server and nothing about the call. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof ConnectError && error.code === Code.Unavailable;

const isRepeatable = ({ idempotency }: DescMethod): boolean =>
  idempotency === Idempotency.NO_SIDE_EFFECTS || idempotency === Idempotency.IDEMPOTENT;

/** A pause before the repetition with this number, from 1; half of it is left to chance, so that callers spread. */
export const pauseMs = ({ delayMsMin, delayMsMax }: RetryPolicy, repetition: number): number =>
  Math.min(delayMsMax, delayMsMin * 2 ** (repetition - 1)) * (0.5 + Math.random() / 2);

/**
 * How many repetitions a client still has. A server that fails everything would otherwise get several times the load
 * that made it fail: once the store is used up, one call in ten is repeated.
 */
export class RetryBudget {
  #left = budgetMax;

  /** A call was answered. */
  give(): void {
    if (this.#left < budgetMax) this.#left += 0.1;
  }

  /** Takes one repetition; false: there is none left. */
  take(): boolean {
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}

const budgetMax = 100;
