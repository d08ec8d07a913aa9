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
 * that are held go when they are released. Says whether there may be more.
 */
export const sweepEvents = async (transaction: Transaction, account: string, keptSinceMs: number): Promise<boolean> => {
  const fromMs = Number((await transaction.get(sweeps, [account]))?.untilMs ?? 0n);
  if (fromMs >= keptSinceMs) return false;
  const entries = await transaction.list(events, {
    prefix: [account],
    from: [account, fromMs],
    to: [account, keptSinceMs],
    limit: sweepStep,
  });
  for (const { key } of entries) {
    const place = { account, ingestedMs: key[1], eventId: key[2] };
    if (!(await isHeld(transaction, place))) transaction.delete(events, key);
  }
  const isPart = entries.length === sweepStep;
  const reachedMs = isPart ? (entries.at(-1)?.key[1] ?? fromMs) : keptSinceMs;
  // A step that ends within one instant would never get past it; the rest of that instant is left to its holders.
  const untilMs = isPart && reachedMs === fromMs ? fromMs + 1 : reachedMs;
  transaction.put(sweeps, [account], { untilMs: BigInt(untilMs) });
  return isPart;
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
