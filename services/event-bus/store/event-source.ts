import type { MessageInitShape } from "@bufbuild/protobuf";

import type {
  EventSourceRecord,
  EventSourceRecordSchema,
} from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { EventSourceState } from "../../../gen/quartet/eventbus/v1/event_source_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { stateOf } from "../domain/event-source.ts";
import { ErrorReason, fault } from "../faults.ts";
import { findBus, putBus } from "./bus.ts";
import { eventSources, sharedSources } from "./layout.ts";
import type { NamePage } from "./named-records.ts";
import { listByName } from "./named-records.ts";

/** A source that a partner shares with an account, also one that it has deleted while the account has its bus. */
export const findEventSource = (
  reader: Reader,
  account: string,
  name: string,
): Promise<EventSourceRecord | undefined> => reader.get(eventSources, [account, name]);

/** The same. Throws EVENT_SOURCE_NOT_FOUND. */
export const getEventSource = async (reader: Reader, account: string, name: string): Promise<EventSourceRecord> => {
  const source = await findEventSource(reader, account, name);
  if (source === undefined) throw fault(ErrorReason.EVENT_SOURCE_NOT_FOUND, { name });
  return source;
};

/** The sources that are shared with an account, by name. */
export const listEventSources = (reader: Reader, account: string, page: NamePage): Promise<EventSourceRecord[]> =>
  listByName(reader, eventSources, [account], page);

/** Creates or replaces a source of an account. */
export const putEventSource = (
  transaction: Transaction,
  source: MessageInitShape<typeof EventSourceRecordSchema> & { readonly account: string; readonly name: string },
): void => {
  transaction.put(eventSources, [source.account, source.name], source);
  transaction.put(sharedSources, [source.name, source.account], {});
};

/** Removes a source of an account without a trace. */
export const removeEventSource = (transaction: Transaction, account: string, name: string): void => {
  transaction.delete(eventSources, [account, name]);
  transaction.delete(sharedSources, [name, account]);
};

/** Ends a source, by its partner or by its age: a bus that receives it stays, with the state DELETED. */
export const deleteEventSource = async (transaction: Transaction, source: EventSourceRecord): Promise<void> => {
  const { account, name } = source;
  const bus = await findBus(transaction, { account, name });
  if (bus === undefined) return removeEventSource(transaction, account, name);
  putBus(transaction, account, { ...bus, isSourceDeleted: true });
  putEventSource(transaction, { ...source, isDeleted: true, pendingSinceMs: 0n });
};

/** At most `limit` accounts with which a source is shared, in order, after one. */
export const listSharedAccounts = async (
  reader: Reader,
  name: string,
  after: string | undefined,
  limit: number,
): Promise<EventSourceRecord[]> => {
  const found: EventSourceRecord[] = [];
  const range = reader.range(sharedSources, {
    prefix: [name],
    ...(after === undefined ? {} : { after: [name, after] as const }),
  });
  for await (const { key } of range) {
    const source = await findEventSource(reader, key[1], name);
    if (source !== undefined && !source.isDeleted) found.push(source);
    if (found.length === limit) break;
  }
  return found;
};

/** At most `limit` names of sources that begin with a text, in order, after one. */
export const listSharedNames = async (
  reader: Reader,
  namePrefix: string,
  after: string | undefined,
  limit: number,
): Promise<string[]> => {
  const names: string[] = [];
  const range = reader.range(sharedSources, {
    prefix: [namePrefix],
    textPrefix: true,
    ...(after === undefined ? {} : { after: [after] as const }),
  });
  for await (const { key } of range) {
    if (names.at(-1) === key[0]) continue;
    const source = await findEventSource(reader, key[1], key[0]);
    if (source === undefined || source.isDeleted) continue;
    names.push(key[0]);
    if (names.length === limit) break;
  }
  return names;
};

/** At most `limit` pending sources of any account whose time is over; damaged ones are left out. */
export const listExpiredSources = async (
  reader: Reader,
  nowMs: number,
  limit: number,
): Promise<EventSourceRecord[]> => {
  const found: EventSourceRecord[] = [];
  for await (const { value } of walkTable(reader, eventSources)) {
    if (value !== undefined && !value.isDeleted && stateOf(value, nowMs) === EventSourceState.DELETED)
      found.push(value);
    if (found.length === limit) break;
  }
  return found;
};
