import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";

import { isUnprocessed } from "../wire/unprocessed.ts";

/** How often and how soon a call is repeated. */
export interface RetryPolicy {
  /** All attempts, the first included; at least one for each address. 1: no repetition. */
  readonly attemptsMax: number;
  /** The pause before the first repetition at a failed address; each later one is twice as long. */
  readonly delayMsMin: number;
  readonly delayMsMax: number;
}

export const defaultRetryPolicy: RetryPolicy = { attemptsMax: 4, delayMsMin: 50, delayMsMax: 1000 };

/**
 * True for a failure after which the call may be repeated: no handler has begun to handle it, or the server became
 * unavailable and the method's idempotency level allows repetition.
 */
export const mayRepeat = (method: DescMethod, error: unknown): boolean =>
  isUnprocessed(error) || (isRepeatable(method) && isUnavailable(error));

/** True for a failure of the server and not of the call. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof ConnectError && error.code === Code.Unavailable;

const isRepeatable = ({ idempotency }: DescMethod): boolean =>
  idempotency === Idempotency.NO_SIDE_EFFECTS || idempotency === Idempotency.IDEMPOTENT;

/** The pause before the repetition with this number, from 1; half of it is random, so that callers spread out. */
export const pauseMs = ({ delayMsMin, delayMsMax }: RetryPolicy, repetition: number): number =>
  Math.min(delayMsMax, delayMsMin * 2 ** (repetition - 1)) * (0.5 + Math.random() / 2);

/**
 * The number of repetitions that a client still has. A server that fails all calls would otherwise get several times
 * the load that made it fail: once the budget is spent, one call in ten is repeated.
 */
export class RetryBudget {
  #left = budgetMax;

  /** A call was answered, which earns a tenth of a repetition. */
  earn(): void {
    if (this.#left < budgetMax) this.#left += 0.1;
  }

  /** Spends one repetition; false if none is left. */
  spend(): boolean {
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}

const budgetMax = 100;
