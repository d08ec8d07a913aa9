import type { EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import type { Transaction } from "../../kit/store/store.ts";

/** One attempt to deliver an event to a target. */
export interface DeliveryAttempt {
  /** The account that owns the rule. */
  readonly account: string;
  readonly event: EventRecord;
  readonly target: Target;
  readonly ruleArn: string;
  readonly ruleName: string;
  /** When the bus accepted the event, in milliseconds since 1970. */
  readonly ingestedMs: number;
  /** The same in all attempts of a delivery and in no other delivery. */
  readonly deliveryId: string;
  readonly signal: AbortSignal;
}

/** A permanent failure. The code is a documented one of dead letters. */
export interface AttemptFailure {
  readonly code: string;
  readonly message: string;
}

/** The outcome of an attempt. Codes are the documented ones of dead letters. */
export type AttemptOutcome =
  /** `apply` writes in the transaction that ends the delivery. If it returns a failure, it has written nothing. */
  | {
      readonly kind: "delivered";
      readonly apply?: (transaction: Transaction) => Promise<AttemptFailure | undefined>;
    }
  | { readonly kind: "retry"; readonly code: string; readonly message: string; readonly notBeforeMs?: number }
  | ({ readonly kind: "failed" } & AttemptFailure);

/** Delivers to one kind of target. May be called again for the same event. If it throws, the delivery is retried. */
export type Connector = (attempt: DeliveryAttempt) => Promise<AttemptOutcome>;
