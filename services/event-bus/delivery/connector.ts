import type { EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import type { Transaction } from "../../kit/store/store.ts";

/** One try to deliver an event to a target. */
export interface Attempt {
  /** The account whose rule it is. */
  readonly account: string;
  readonly event: EventRecord;
  readonly target: Target;
  readonly ruleArn: string;
  readonly ruleName: string;
  /** When the event was taken, in milliseconds since 1970. */
  readonly ingestedMs: number;
  /** The instant that an earlier try was given by a rate limit and has waited for; undefined: none. */
  readonly slotMs: number | undefined;
  readonly signal: AbortSignal;
}

/** A failure that no retry mends. */
export interface AttemptFailure {
  readonly code: string;
  readonly message: string;
}

/** How a try ended. Codes are the documented ones of dead letters. */
export type AttemptOutcome =
  /** `apply` writes in the transaction that ends the delivery. A failure that it gives has written nothing. */
  | {
      readonly kind: "delivered";
      readonly apply?: (transaction: Transaction) => Promise<AttemptFailure | undefined>;
    }
  /** A rate limit asks for a later instant; this does not count as a try. */
  | { readonly kind: "postponed"; readonly slotMs: number }
  | { readonly kind: "retry"; readonly code: string; readonly message: string; readonly notBeforeMs?: number }
  | ({ readonly kind: "failed" } & AttemptFailure);

/** Delivers to one kind of target. May be called again for the same event; may throw, which is tried again. */
export type Connector = (attempt: Attempt) => Promise<AttemptOutcome>;
