import type { MessageInitShape } from "@bufbuild/protobuf";

import type { EventRecord, EventRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { eventHolders, events, sweeps } from "./layout.ts";

/** The key of an event in the log. */
export interface EventKey {
  readonly account: string;
  /** Milliseconds since 1970. */
  readonly ingestedMs: number;
  readonly eventId: string;
}

/** Events that one step of the sweep visits. */
const sweepStep = 500;

/** The event, or undefined. */
export const findEvent = (
  reader: Reader,
  { account, ingestedMs, eventId }: EventKey,
): Promise<EventRecord | undefined> => reader.get(events, [account, ingestedMs, eventId]);

/** Writes an event and its holders: the log keeps it until all of them have released it. */
export const putEvent = (
  transaction: Transaction,
  key: EventKey,
  event: MessageInitShape<typeof EventRecordSchema>,
  holders: readonly string[],
): void => {
  const { account, ingestedMs, eventId } = key;
  transaction.put(events, [account, ingestedMs, eventId], event);
  for (const holder of holders) holdEvent(transaction, key, holder);
};

/** Adds a holder to an event that another one still holds. */
export const holdEvent = (transaction: Transaction, { account, ingestedMs, eventId }: EventKey, holder: string): void =>
  transaction.put(eventHolders, [account, ingestedMs, eventId, holder], {});

/** Removes a holder. Deletes the event if this was the last one and the event was ingested before `keptSinceMs`. */
export const releaseEvent = async (
  transaction: Transaction,
  key: EventKey,
  holder: string,
  keptSinceMs: number,
): Promise<void> => {
  const { account, ingestedMs, eventId } = key;
  transaction.delete(eventHolders, [account, ingestedMs, eventId, holder]);
  if (ingestedMs < keptSinceMs && !(await isHeld(transaction, key)))
    transaction.delete(events, [account, ingestedMs, eventId]);
};

const isHeld = async (reader: Reader, { account, ingestedMs, eventId }: EventKey): Promise<boolean> =>
  (await reader.list(eventHolders, { prefix: [account, ingestedMs, eventId], limit: 1 })).length > 0;

/**
 * One step of the sweep: deletes events of an account that were ingested before the instant and that nothing holds.
 * Held events are deleted when they are released. Returns the event after which the next step begins; undefined if this
 * step was the last. A new sweep starts at the timestamp at which the last one stopped, so events of that millisecond
 * are visited twice.
 */
export const sweepLogStep = async (
  transaction: Transaction,
  account: string,
  keptSinceMs: number,
  after?: EventKey,
): Promise<EventKey | undefined> => {
  const fromMs = Number((await transaction.get(sweeps, [account]))?.untilMs ?? 0n);
  if (fromMs >= keptSinceMs) return undefined;
  const entries = await transaction.list(events, {
    prefix: [account],
    ...(after === undefined
      ? { from: [account, fromMs] as const }
      : { after: [account, after.ingestedMs, after.eventId] as const }),
    to: [account, keptSinceMs],
    limit: sweepStep,
  });
  for (const { key } of entries) {
    const eventKey = { account, ingestedMs: key[1], eventId: key[2] };
    if (!(await isHeld(transaction, eventKey))) transaction.delete(events, key);
  }
  const last = entries.length === sweepStep ? entries.at(-1)?.key : undefined;
  const untilMs = last === undefined ? keptSinceMs : last[1];
  if (untilMs > fromMs) transaction.put(sweeps, [account], { untilMs: BigInt(untilMs) });
  return last && { account, ingestedMs: last[1], eventId: last[2] };
};
