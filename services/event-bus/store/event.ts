import type { MessageInitShape } from "@bufbuild/protobuf";

import type { EventRecord, EventRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { eventHolders, events, sweeps } from "./layout.ts";

/** Where an event stands in the log. */
export interface EventPlace {
  readonly account: string;
  /** Milliseconds since 1970. */
  readonly ingestedMs: number;
  readonly eventId: string;
}

/** Entries that one step of the sweep looks at. */
const sweepStep = 500;

export const findEvent = (reader: Reader, place: EventPlace): Promise<EventRecord | undefined> =>
  reader.get(events, [place.account, place.ingestedMs, place.eventId]);

/** Writes an event with what keeps it in the log beyond its time. */
export const putEvent = (
  transaction: Transaction,
  place: EventPlace,
  event: MessageInitShape<typeof EventRecordSchema>,
  holders: readonly string[],
): void => {
  const { account, ingestedMs, eventId } = place;
  transaction.put(events, [account, ingestedMs, eventId], event);
  for (const holder of holders) holdEvent(transaction, place, holder);
};

/** Adds a holder to an event that another one still holds. */
export const holdEvent = (
  transaction: Transaction,
  { account, ingestedMs, eventId }: EventPlace,
  holder: string,
): void => transaction.put(eventHolders, [account, ingestedMs, eventId, holder], {});

/** Ends that a holder keeps an event. The event goes when it was the last one and the log's own time is over. */
export const releaseEvent = async (
  transaction: Transaction,
  place: EventPlace,
  holder: string,
  keptSinceMs: number,
): Promise<void> => {
  const { account, ingestedMs, eventId } = place;
  transaction.delete(eventHolders, [account, ingestedMs, eventId, holder]);
  if (ingestedMs < keptSinceMs && !(await isHeld(transaction, place)))
    transaction.delete(events, [account, ingestedMs, eventId]);
};

const isHeld = async (reader: Reader, { account, ingestedMs, eventId }: EventPlace): Promise<boolean> =>
  (await reader.list(eventHolders, { prefix: [account, ingestedMs, eventId], limit: 1 })).length > 0;

/**
 * One step of the sweep: deletes events of an account that were taken before the instant and that nothing holds. Those
 * that are held go when they are released. Gives where the next step begins; undefined when this was the last. A sweep
 * that begins anew looks again at the instant that the one before was cut off in.
 */
export const sweepEvents = async (
  transaction: Transaction,
  account: string,
  keptSinceMs: number,
  after?: EventPlace,
): Promise<EventPlace | undefined> => {
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
    const place = { account, ingestedMs: key[1], eventId: key[2] };
    if (!(await isHeld(transaction, place))) transaction.delete(events, key);
  }
  const last = entries.length === sweepStep ? entries.at(-1)?.key : undefined;
  const untilMs = last === undefined ? keptSinceMs : last[1];
  if (untilMs > fromMs) transaction.put(sweeps, [account], { untilMs: BigInt(untilMs) });
  return last && { account, ingestedMs: last[1], eventId: last[2] };
};

/** The accounts that have events, each once. */
export const listEventAccounts = async (reader: Reader): Promise<string[]> => {
  const accounts: string[] = [];
  for (;;) {
    const last = accounts.at(-1);
    const [entry] = await reader.list(events, { ...(last === undefined ? {} : { after: [last] as const }), limit: 1 });
    if (entry === undefined) return accounts;
    accounts.push(entry.key[0]);
  }
};
