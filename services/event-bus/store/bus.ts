import type { MessageInitShape } from "@bufbuild/protobuf";

import type { EventBusRecord, EventBusRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import type { BusReference } from "../domain/arns.ts";
import { ErrorReason, fault } from "../faults.ts";
import { changeCount, countRecords } from "./account-count.ts";
import { readRevision } from "./bus-revision.ts";
import { buses, busRevisions, ruleChanges } from "./layout.ts";
import type { NamePage } from "./named-records.ts";
import { listByName } from "./named-records.ts";

/** The bus, or undefined. Each call of an account asks for it twice, so readers share it. */
export const findBus = (
  reader: Reader,
  { account, name }: BusReference,
): Promise<Readonly<EventBusRecord> | undefined> => reader.getShared(buses, [account, name]);

/** The bus. Throws EVENT_BUS_NOT_FOUND. */
export const getBus = async (reader: Reader, reference: BusReference): Promise<EventBusRecord> => {
  const bus = await findBus(reader, reference);
  if (bus === undefined) throw fault(ErrorReason.EVENT_BUS_NOT_FOUND, { name: reference.name });
  return bus;
};

/** Buses of an account by name. */
export const listBuses = (reader: Reader, account: string, page: NamePage): Promise<EventBusRecord[]> =>
  listByName(reader, buses, [account], page);

/** All buses, with their accounts; damaged ones are left out. */
export const walkBuses = async function* (
  reader: Reader,
): AsyncGenerator<{ readonly account: string; readonly bus: EventBusRecord }> {
  for await (const { key, value } of walkTable(reader, buses))
    if (value !== undefined) yield { account: key[0], bus: value };
};

/** The number of an account's buses. */
export const countBuses = (reader: Reader, account: string): Promise<number> => countRecords(reader, buses, account);

/** Creates a bus that does not exist. */
export const createBus = async (
  transaction: Transaction,
  account: string,
  bus: MessageInitShape<typeof EventBusRecordSchema> & { readonly name: string },
): Promise<void> => {
  await changeCount(transaction, buses, account, 1);
  putBus(transaction, account, bus);
};

/** Replaces a bus. */
export const putBus = (
  transaction: Transaction,
  account: string,
  bus: MessageInitShape<typeof EventBusRecordSchema> & { readonly name: string },
): void => transaction.put(buses, [account, bus.name], bus);

/**
 * Deletes an existing bus that has no rules. Its revision stays and grows: if it restarted with the next bus of the
 * name, the compiled rules of the deleted bus could be used for the new one.
 */
export const deleteBus = async (transaction: Transaction, { account, name }: BusReference): Promise<void> => {
  await changeCount(transaction, buses, account, -1);
  transaction.delete(buses, [account, name]);
  const { revision } = await readRevision(transaction, { account, name });
  if (revision === 0n) return;
  transaction.put(busRevisions, [account, name], { revision: revision + 1n, ruleCount: 0 });
  await transaction.deleteRange(ruleChanges, { prefix: [account, name] });
};
