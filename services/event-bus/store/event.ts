import type { MessageInitShape } from "@bufbuild/protobuf";
import { LRUCache } from "lru-cache";

import type { EventRecord, EventRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { findOrDamaged, undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { eventHolders, events, sweeps } from "./layout.ts";
import { countEvent } from "./traffic-counts.ts";

/** The key of an event in the log. */
export interface EventKey {
  readonly account: string;
  /** Milliseconds since 1970. */
  readonly ingestedMs: number;
  readonly eventId: string;
}

/** Events that one step of the sweep visits. */
const sweepStep = 500;
/** Holders that one step of the sweep reads. */
const holdersMax = 4_000;

/** The event, or undefined. */
export const findEvent = (
  reader: Reader,
  { account, ingestedMs, eventId }: EventKey,
): Promise<EventRecord | undefined> => reader.get(events, [account, ingestedMs, eventId]);

/** Events of the log that are read to find one by its id; that of a busy minute. */
const lookedAtMax = 100_000;

/** At most `limit` entries of an event in an account's log, the latest first: one for each bus and replay. */
export const findLogged = async (
  reader: Reader,
  account: string,
  id: string,
  limit: number,
): Promise<{ readonly key: EventKey; readonly event: EventRecord }[]> => {
  const found: { readonly key: EventKey; readonly event: EventRecord }[] = [];
  const range = reader.range(events, { prefix: [account], reverse: true, limit: lookedAtMax });
  for await (const { key, value } of range) {
    const [, ingestedMs, eventId] = key;
    if (eventId !== id && !eventId.startsWith(`${id}/`)) continue;
    found.push({ key: { account, ingestedMs, eventId }, event: value });
    // The entry of the event itself is the earliest one.
    if (eventId === id || found.length === limit) break;
  }
  return found;
};

/** At most `limit` holders of an event. */
export const listHolders = async (
  reader: Reader,
  { account, ingestedMs, eventId }: EventKey,
  limit: number,
): Promise<string[]> => {
  const entries = await reader.list(eventHolders, { prefix: [account, ingestedMs, eventId], limit });
  return entries.map(({ key }) => key[3]);
};

/** Writes an event and its holders: the log keeps it until all of them have released it. */
export const putEvent = (
  transaction: Transaction,
  key: EventKey,
  event: MessageInitShape<typeof EventRecordSchema>,
  holders: readonly string[],
): void => {
  const { account, ingestedMs, eventId } = key;
  transaction.put(events, [account, ingestedMs, eventId], event);
  countEvent(transaction);
  for (const holder of holders) holdEvent(transaction, key, holder);
};

/** Adds a holder to an event that another one still holds. */
export const holdEvent = (transaction: Transaction, { account, ingestedMs, eventId }: EventKey, holder: string): void =>
  transaction.put(eventHolders, [account, ingestedMs, eventId, holder], {});

/** Replaces a holder of an event by others. */
export const passHold = (transaction: Transaction, key: EventKey, holder: string, others: readonly string[]): void => {
  const { account, ingestedMs, eventId } = key;
  for (const other of others) holdEvent(transaction, key, other);
  transaction.delete(eventHolders, [account, ingestedMs, eventId, holder]);
};

/**
 * Removes a holder. Deletes the event if this was the last one and the event was ingested before `keptSinceMs`. Reads
 * nothing of a later event; then nothing has to be waited for.
 */
export const releaseEvent = (
  transaction: Transaction,
  key: EventKey,
  holder: string,
  keptSinceMs: number,
): Promise<void> | undefined => {
  const { account, ingestedMs, eventId } = key;
  transaction.delete(eventHolders, [account, ingestedMs, eventId, holder]);
  return ingestedMs < keptSinceMs ? deleteUnheld(transaction, key) : undefined;
};

const deleteUnheld = async (transaction: Transaction, key: EventKey): Promise<void> => {
  const { account, ingestedMs, eventId } = key;
  if (!(await isHeld(transaction, key))) transaction.delete(events, [account, ingestedMs, eventId]);
};

const isHeldBy = async (reader: Reader, { account, ingestedMs, eventId }: EventKey, holder: string): Promise<boolean> =>
  (await findOrDamaged(reader.get(eventHolders, [account, ingestedMs, eventId, holder]))) !== undefined;

/** The holders that were the last ones of events when these were looked at, by the events' names. */
const lastHolders = new LRUCache<string, string>({ max: 1_000 });

/**
 * Looks at the last holder: deliveries end about in the order of their holders, so the first ones are being removed by
 * those that end at the same time, and would have to be passed over. The holder that was the last one before is often
 * still there, which is found with one read.
 */
const isHeld = async (reader: Reader, key: EventKey): Promise<boolean> => {
  const { account, ingestedMs, eventId } = key;
  const name = `${account}/${ingestedMs}/${eventId}`;
  const known = lastHolders.get(name);
  if (known !== undefined && (await isHeldBy(reader, key, known))) return true;
  const prefix: [string, number, string] = [account, ingestedMs, eventId];
  const found = await findOrDamaged(reader.list(eventHolders, { prefix, reverse: true, limit: 1 }));
  if (found === "damaged") return true;
  const [last] = found;
  if (last === undefined) lastHolders.delete(name);
  else lastHolders.set(name, last.key[3]);
  return last !== undefined;
};

/**
 * One step of the sweep: deletes events of an account that were ingested before the instant and that nothing holds.
 * Held events are deleted when they are released. Returns the event after which the next step begins; undefined if this
 * step was the last. A new sweep starts at the timestamp at which the last one stopped, so events of that millisecond
 * are visited twice. The holders of all events of a step are one range; a step with too many of them ends early.
 */
export const sweepLogStep = async (
  transaction: Transaction,
  account: string,
  keptSinceMs: number,
  after?: EventKey,
): Promise<EventKey | undefined> => {
  const swept = await transaction.get(sweeps, [account]).catch(undefinedIfDamaged);
  const fromMs = Number(swept?.untilMs ?? 0n);
  if (fromMs >= keptSinceMs) return undefined;
  const begin: RangeBegin =
    after === undefined ? { from: [account, fromMs] } : { after: [account, after.ingestedMs, after.eventId] };
  const found: LogKey[] = [];
  const range = { ...begin, to: [account, keptSinceMs] as [string, number], limit: sweepStep };
  for await (const { key } of walkTable(transaction, events, range)) found.push([...key]);
  const end = found.at(-1);
  const { held, lastRead } =
    end === undefined ? nothingHeld : await readHeld(transaction, { ...begin, through: end, limit: holdersMax });
  const visited = lastRead === undefined ? found : found.filter((key) => !isLater(key, lastRead));
  for (const key of visited) if (!held.has(nameOf(key))) transaction.delete(events, key);

  const last = lastRead ?? (found.length === sweepStep ? end : undefined);
  const untilMs = last === undefined ? keptSinceMs : last[1];
  if (untilMs > fromMs) transaction.put(sweeps, [account], { untilMs: BigInt(untilMs) });
  return last && { account, ingestedMs: last[1], eventId: last[2] };
};

type LogKey = [account: string, ingestedMs: number, eventId: string];

/** Where a step begins, as parts of both tables' keys. */
type RangeBegin = { readonly from: [account: string, fromMs: number] } | { readonly after: LogKey };

interface HeldEvents {
  /** The names of the events that something holds. */
  readonly held: ReadonlySet<string>;
  /** Set if the range has more holders than were read: events after this one may be held as well. */
  readonly lastRead: LogKey | undefined;
}

const nothingHeld: HeldEvents = { held: new Set(), lastRead: undefined };

const readHeld = async (
  reader: Reader,
  range: RangeBegin & { readonly through: LogKey; readonly limit: number },
): Promise<HeldEvents> => {
  const held = new Set<string>();
  let count = 0;
  let last: LogKey | undefined;
  for await (const { key } of walkTable(reader, eventHolders, range)) {
    count += 1;
    last = [key[0], key[1], key[2]];
    held.add(nameOf(last));
  }
  return { held, lastRead: count === range.limit ? last : undefined };
};

const nameOf = ([, ingestedMs, eventId]: LogKey): string => `${ingestedMs}/${eventId}`;

const isLater = ([, ingestedMs, eventId]: LogKey, [, otherMs, otherId]: LogKey): boolean =>
  ingestedMs === otherMs ? Buffer.compare(Buffer.from(eventId), Buffer.from(otherId)) > 0 : ingestedMs > otherMs;
