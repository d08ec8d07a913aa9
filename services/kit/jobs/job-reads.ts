import type { Reader } from "../store/transaction.ts";
import type { Instants } from "./due-instants.ts";
import type { JobTables } from "./job-tables.ts";

/** The earliest instants at which a scheduled job is due, a lease ends and an age ends, if none is below a bound. */
export const nextInstants = async (tables: JobTables, reader: Reader, bounds: Instants): Promise<Instants> => {
  const first = async (table: JobTables["scheduled" | "leased" | "expiring"], from: number): Promise<number> => {
    if (from === Infinity) return from;
    const [entry] = await reader.list(table, { from: [from], limit: 1 });
    return entry?.key[0] ?? Infinity;
  };
  return {
    scheduledMs: await first(tables.scheduled, bounds.scheduledMs),
    leasedMs: await first(tables.leased, bounds.leasedMs),
    expiringMs: await first(tables.expiring, bounds.expiringMs),
  };
};

/** The number of jobs that may run now or that run without a lease, but for new ones, at most `limit`. */
export const countDue = async (tables: JobTables, reader: Reader, nowMs: number, limit: number): Promise<number> => {
  let count = 0;
  const ranges = [reader.range(tables.ready, { limit }), reader.range(tables.scheduled, { through: [nowMs], limit })];
  for (const entries of ranges) for await (const _entry of entries) count += 1;
  return Math.min(count, limit);
};

/** The owners that have ready jobs, in order, at most `limit` after one. */
export const listOwners = async (
  tables: JobTables,
  reader: Reader,
  after: string | undefined,
  limit: number,
): Promise<string[]> => {
  const owners: string[] = [];
  let last = after;
  while (owners.length < limit) {
    const [entry] = await reader.list(tables.ready, {
      ...(last === undefined ? {} : { after: [last] }),
      limit: 1,
    });
    if (entry === undefined) break;
    [last] = entry.key;
    owners.push(last);
  }
  return owners;
};
