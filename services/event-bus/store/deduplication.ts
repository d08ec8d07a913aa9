import type { Reader, Transaction } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import type { BusReference } from "../domain/arns.ts";
import { deduplications } from "./layout.ts";

/** For how long an id is remembered, in milliseconds. */
const windowMs = 300_000;

/** Twice the window, so that all records with which a put may collide are in two periods. */
const periodMs = 2 * windowMs;

/** Records that one step of the sweep deletes. */
const sweepStep = 1_000;

/** An id that the sender of an entry has given it. */
export interface Deduplication {
  readonly bus: BusReference;
  /** The account of the sender. */
  readonly sender: string;
  readonly id: string;
}

const keyOf = (period: number, { bus, sender, id }: Deduplication) =>
  [period, bus.account, bus.name, sender, id] as const;

/** The first and the last period in which a put at an instant looks, which are the same or follow each other. */
const periodsAt = (nowMs: number): readonly [first: number, last: number] => [
  Math.max(0, Math.floor((nowMs - windowMs) / periodMs)),
  Math.floor((nowMs + windowMs) / periodMs),
];

/**
 * The id of the event that was put with a deduplication id in the last five minutes, or undefined. One that was put
 * later than now, before the clock was set back, counts if it was by less than five minutes.
 */
export const findDuplicate = async (
  reader: Reader,
  deduplication: Deduplication,
  nowMs: number,
): Promise<string | undefined> => {
  for (const period of new Set(periodsAt(nowMs))) {
    const found = await reader.get(deduplications, keyOf(period, deduplication));
    if (found !== undefined && Math.abs(nowMs - Number(found.putMs)) < windowMs) return found.eventId;
  }
  return undefined;
};

/** Records that an event was put with a deduplication id. */
export const putDeduplication = (
  transaction: Transaction,
  deduplication: Deduplication,
  nowMs: number,
  eventId: string,
): void =>
  transaction.put(deduplications, keyOf(Math.floor(nowMs / periodMs), deduplication), {
    eventId,
    putMs: BigInt(nowMs),
  });

/** The periods before and after those that a put at an instant reads. */
export interface ExpiredPeriods {
  readonly before: number;
  readonly after: number;
}

export const expiredPeriodsAt = (nowMs: number): ExpiredPeriods => {
  const [before, after] = periodsAt(nowMs);
  return { before, after };
};

/** Deletes some records of expired periods, none before `from`. Returns whether there may be more. */
export const deleteExpired = async (
  transaction: Transaction,
  { before, after }: ExpiredPeriods,
  from: number,
): Promise<boolean> => {
  const isEmpty = from >= before;
  const keysIn = (range: { readonly from: [number]; readonly to: [number] } | { readonly after: [number] }) =>
    Array.fromAsync(walkTable(transaction, deduplications, { ...range, limit: sweepStep }), ({ key }) => key);
  const past = isEmpty ? [] : await keysIn({ from: [from], to: [before] });
  const future = await keysIn({ after: [after] });
  for (const key of [...past, ...future]) transaction.delete(deduplications, key);
  return past.length === sweepStep || future.length === sweepStep;
};
