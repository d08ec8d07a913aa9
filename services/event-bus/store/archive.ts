import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type {
  ArchivePlace,
  ArchiveRecord,
  ArchiveRecordSchema,
  EventRecord,
} from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { ArchivePlaceSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { eventJson } from "../domain/envelope.ts";
import { ErrorReason, fault } from "../faults.ts";
import type { EventPlace } from "./event.ts";
import { findEvent, releaseEvent } from "./event.ts";
import { archiveCounts, archiveEntries, archives } from "./layout.ts";

/** Rows of counts that one adding up takes. */
const countsMax = 1_000;

export const findArchive = (reader: Reader, account: string, name: string): Promise<ArchiveRecord | undefined> =>
  reader.get(archives, [account, name]);

/** The archive. Throws ARCHIVE_NOT_FOUND. */
export const getArchive = async (reader: Reader, account: string, name: string): Promise<ArchiveRecord> => {
  const archive = await findArchive(reader, account, name);
  if (archive === undefined) throw fault(ErrorReason.ARCHIVE_NOT_FOUND, { name });
  return archive;
};

/** At most `limit` archives of an account by name, of those that are accepted. */
export const listArchives = async (
  reader: Reader,
  account: string,
  options: { readonly namePrefix: string; readonly after: string | undefined; readonly limit: number },
  accepts: (archive: ArchiveRecord) => boolean = () => true,
): Promise<ArchiveRecord[]> => {
  const found: ArchiveRecord[] = [];
  const range = reader.range(archives, {
    prefix: [account, options.namePrefix],
    textPrefix: true,
    ...(options.after === undefined ? {} : { after: [account, options.after] as const }),
  });
  for await (const { value } of range) {
    if (accepts(value)) found.push(value);
    if (found.length === options.limit) break;
  }
  return found;
};

/** Every archive of every account, with its account. */
export const listAllArchives = async (reader: Reader): Promise<{ account: string; name: string }[]> => {
  const found: { account: string; name: string }[] = [];
  for await (const { key } of reader.range(archives, {})) found.push({ account: key[0], name: key[1] });
  return found;
};

export const putArchive = (
  transaction: Transaction,
  account: string,
  archive: MessageInitShape<typeof ArchiveRecordSchema> & { readonly name: string },
): void => transaction.put(archives, [account, archive.name], archive);

export const deleteArchive = (transaction: Transaction, account: string, name: string): void =>
  transaction.delete(archives, [account, name]);

/** Names an archive as a holder of the events that it keeps. */
export const archiveHolder = (archiveId: string): string => `archive:${archiveId}`;

/** Puts an event into an archive; the event's writer makes the archive its holder. */
export const putArchiveEntry = (
  transaction: Transaction,
  place: EventPlace,
  archiveId: string,
  event: EventRecord,
): void => {
  const { account, ingestedMs, eventId } = place;
  const sizeBytes = BigInt(Buffer.byteLength(eventJson(event)));
  const eventMs = Math.max(0, Number(event.timeMs));
  transaction.put(archiveEntries, [account, archiveId, eventMs, ingestedMs, eventId], { sizeBytes });
  transaction.put(archiveCounts, [account, archiveId, `${ingestedMs}/${eventId}`], { eventCount: 1n, sizeBytes });
};

/** An entry with the event that it stands for. */
export interface ArchivedEvent {
  readonly place: ArchivePlace;
  readonly event: EventRecord;
}

/** At most `limit` events of an archive in order of their time, from an instant (or behind a place) up to another. */
export const listArchivedEvents = async (
  reader: Reader,
  account: string,
  archiveId: string,
  range: { readonly fromMs: number; readonly toMs: number; readonly after: ArchivePlace | undefined },
  limit: number,
): Promise<ArchivedEvent[]> => {
  const { fromMs, toMs, after } = range;
  const entries = await reader.list(archiveEntries, {
    prefix: [account, archiveId],
    ...(after === undefined
      ? { from: [account, archiveId, fromMs] as const }
      : { after: [account, archiveId, Number(after.eventMs), Number(after.ingestedMs), after.eventId] as const }),
    to: [account, archiveId, toMs],
    limit,
  });
  const found: ArchivedEvent[] = [];
  for (const { key } of entries) {
    const [, , eventMs, ingestedMs, eventId] = key;
    const event = await findEvent(reader, { account, ingestedMs, eventId });
    if (event === undefined) continue;
    const place = { eventMs: BigInt(eventMs), ingestedMs: BigInt(ingestedMs), eventId };
    found.push({ place: create(ArchivePlaceSchema, place), event });
  }
  return found;
};

/** What an archive keeps. */
export interface ArchiveSize {
  readonly eventCount: bigint;
  readonly sizeBytes: bigint;
}

/** How much an archive keeps, as far as a bounded look tells; the rest follows within a minute. */
export const sizeOf = async (reader: Reader, account: string, archive: ArchiveRecord): Promise<ArchiveSize> => {
  let { eventCount, sizeBytes } = archive;
  const counts = await reader.list(archiveCounts, { prefix: [account, archive.id], limit: countsMax });
  for (const { value } of counts) {
    eventCount += value.eventCount;
    sizeBytes += value.sizeBytes;
  }
  return { eventCount, sizeBytes };
};

/** Adds up what was added to an archive; says whether there may be more. */
export const addUpArchive = async (transaction: Transaction, account: string, name: string): Promise<boolean> => {
  const archive = await findArchive(transaction, account, name);
  if (archive === undefined) return false;
  const counts = await transaction.list(archiveCounts, { prefix: [account, archive.id], limit: countsMax });
  if (counts.length === 0) return false;
  for (const { key, value } of counts) {
    archive.eventCount += value.eventCount;
    archive.sizeBytes += value.sizeBytes;
    transaction.delete(archiveCounts, key);
  }
  putArchive(transaction, account, archive);
  return counts.length === countsMax;
};

/**
 * Lets some entries of an archive go that happened before an instant (all of them when there is none), and their events
 * with them unless something else holds these. Says how much went and whether there may be more.
 */
export const letEntriesGo = async (
  transaction: Transaction,
  account: string,
  archiveId: string,
  options: { readonly beforeMs: number | undefined; readonly keptSinceMs: number; readonly limit: number },
): Promise<ArchiveSize & { readonly hasMore: boolean }> => {
  const entries = await transaction.list(archiveEntries, {
    prefix: [account, archiveId],
    ...(options.beforeMs === undefined ? {} : { to: [account, archiveId, options.beforeMs] as const }),
    limit: options.limit,
  });
  let sizeBytes = 0n;
  for (const { key, value } of entries) {
    const [, , , ingestedMs, eventId] = key;
    transaction.delete(archiveEntries, key);
    await releaseEvent(transaction, { account, ingestedMs, eventId }, archiveHolder(archiveId), options.keptSinceMs);
    sizeBytes += value.sizeBytes;
  }
  return { eventCount: BigInt(entries.length), sizeBytes, hasMore: entries.length === options.limit };
};

/** Deletes the counts of an archive that is gone. */
export const deleteCounts = (transaction: Transaction, account: string, archiveId: string): Promise<void> =>
  transaction.deleteRange(archiveCounts, { prefix: [account, archiveId] });
