import type { JobState } from "../../../gen/quartet/kit/storage/v1/records_pb.ts";
import type { Logger } from "../log/log.ts";
import { byteStringOf } from "../store/byte-string.ts";
import { meetsDamage } from "../store/damage.ts";
import { StoreCorruptionError } from "../store/errors.ts";
import type { Store } from "../store/store.ts";
import type { KeyTuple, Table } from "../store/table.ts";
import { findKey, pretty } from "../store/table.ts";
import type { Transaction } from "../store/transaction.ts";
import type { JobTables } from "./job-tables.ts";
import { JobPlace } from "./job-tables.ts";

/** The parts of a queue with which damaged records are set aside. */
interface DamagedQueue {
  readonly store: Store;
  readonly tables: JobTables;
  readonly log: Logger;
}

/**
 * Deletes a record of a queue that is damaged, because it would hold up all other jobs, and logs it: the job of a state
 * or a payload is lost, and so may be one of which a key is damaged. An entry has nothing but its key: it is written
 * again if its job names it. Does nothing to a record that can be read after all, and to those of others.
 */
export const setAsideDamaged = async ({ store, tables, log }: DamagedQueue, error: unknown): Promise<void> => {
  if (!(error instanceof StoreCorruptionError)) return;
  const number = (error.key[0] ?? 0) * 256 + (error.key[1] ?? 0);
  const table = Object.values(tables).find((each) => each.number === number);
  if (table === undefined) return;
  try {
    const outcome = await store.transact((tx) => setAside(tx, tables, table, error.key));
    if (outcome !== undefined) log.error({ err: error, ...outcome }, "a damaged record of a job was set aside");
  } catch (failure) {
    log.error({ err: failure }, "a damaged record of a job cannot be set aside");
  }
};

interface SetAside {
  readonly record: string;
  readonly isJobLost: boolean;
}

const setAside = async (
  tx: Transaction,
  tables: JobTables,
  table: Table,
  bytes: Uint8Array,
): Promise<SetAside | undefined> => {
  const key = findKey(table, byteStringOf(bytes));
  if (key === undefined) {
    tx.deleteUnreadable(table, bytes);
    return { record: `${table.name}/0x${Buffer.from(bytes).toString("hex")}`, isJobLost: true };
  }
  if (!(await meetsDamage(tx.get(table, key)))) return undefined;
  tx.delete(table, key);
  const record = pretty(table, key);
  const id = key.at(-1) as string;
  if (table === tables.bodies) tx.delete(tables.states, [id]);
  if (table === tables.bodies || table === tables.states || table === tables.fresh) return { record, isJobLost: true };
  // A job whose state is damaged as well is lost with that.
  const state = (await meetsDamage(tx.get(tables.states, [id]))) ? undefined : await tx.get(tables.states, [id]);
  if (state !== undefined && isNamed(tables, table, key, state)) tx.put(table, key, {});
  return { record, isJobLost: false };
};

/** Whether the state of a job names an entry. */
const isNamed = (tables: JobTables, table: Table, key: KeyTuple, state: JobState): boolean => {
  const instant = Number(state.atMs);
  switch (table) {
    case tables.ready:
      return state.place === JobPlace.READY && key[0] === state.owner && key[1] === instant;
    case tables.scheduled:
      return state.place === JobPlace.SCHEDULED && key[0] === instant;
    case tables.leased:
      return state.place === JobPlace.LEASED && key[0] === instant;
    default:
      return key[0] === Number(state.expiresMs);
  }
};
