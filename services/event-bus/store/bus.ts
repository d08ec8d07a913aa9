import type { MessageInitShape } from "@bufbuild/protobuf";

import type { EventBusRecord, EventBusRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import type { BusReference } from "../domain/arns.ts";
import { ErrorReason, fault } from "../faults.ts";
import { buses, busRevisions, ruleChanges } from "./layout.ts";

/** The bus, or undefined. */
export const findBus = (reader: Reader, { account, name }: BusReference): Promise<EventBusRecord | undefined> =>
  reader.get(buses, [account, name]);

/** The bus. Throws EVENT_BUS_NOT_FOUND. */
export const getBus = async (reader: Reader, reference: BusReference): Promise<EventBusRecord> => {
  const bus = await findBus(reader, reference);
  if (bus === undefined) throw fault(ErrorReason.EVENT_BUS_NOT_FOUND, { name: reference.name });
  return bus;
};

/** At most `limit` buses of an account, by name. */
export const listBuses = async (
  reader: Reader,
  account: string,
  namePrefix: string,
  after: string | undefined,
  limit: number,
): Promise<EventBusRecord[]> => {
  const entries = await reader.list(buses, {
    prefix: [account, namePrefix],
    textPrefix: true,
    ...(after === undefined ? {} : { after: [account, after] as const }),
    limit,
  });
  return entries.map((entry) => entry.value);
};

export const putBus = (
  transaction: Transaction,
  account: string,
  bus: MessageInitShape<typeof EventBusRecordSchema> & { readonly name: string },
): void => transaction.put(buses, [account, bus.name], bus);

/**
 * Deletes a bus that has no rules. Its revision stays and grows: were it to begin anew with the next bus of that name,
 * the compiled rules of this one would be taken for that one's.
 */
export const deleteBus = async (transaction: Transaction, { account, name }: BusReference): Promise<void> => {
  transaction.delete(buses, [account, name]);
  const before = await transaction.get(busRevisions, [account, name]);
  if (before === undefined) return;
  transaction.put(busRevisions, [account, name], { revision: before.revision + 1n, ruleCount: 0 });
  await transaction.deleteRange(ruleChanges, { prefix: [account, name] });
};
