import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type {
  ArchivePlace,
  ArchiveRecord,
  ArchiveRecordSchema,
  EventRecord,
} from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { ArchivePlaceSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { eventJson } from "../domain/envelope.ts";
import { ErrorReason, fault } from "../faults.ts";
import type { EventKey } from "./event.ts";
import { findEvent, releaseEvent } from "./event.ts";
import { archiveCounts, archiveEntries, archives } from "./layout.ts";
import type { NamePage } from "./named-records.ts";
import { listByName } from "./named-records.ts";

/** Rows of archive_counts that one transaction adds up. */
const countsMax = 1_000;
/** Bytes of the copies of events that one transaction deletes. */
const copiesBytesMax = 4 * 1024 * 1024;

/** The archive, or undefined. */
export const findArchive = (reader: Reader, account: string, name: string): Promise<ArchiveRecord | undefined> =>
  reader.get(archives, [account, name]);

/** The archive. Throws ARCHIVE_NOT_FOUND. */
export const getArchive = async (reader: Reader, account: string, name: string): Promise<ArchiveRecord> => {
  const archive = await findArchive(reader, account, name);
  if (archive === undefined) throw fault(ErrorReason.ARCHIVE_NOT_FOUND, { name });
  return archive;
};

/** Archives of an account by name; only those that are accepted. */
export const listArchives = (
  reader: Reader,
  account: string,
  page: NamePage,
  accepts?: (archive: ArchiveRecord) => boolean,
): Promise<ArchiveRecord[]> => listByName(reader, archives, [account], page, accepts);

/** Every archive of every account. */
export const listAllArchives = async (
  reader: Reader,
): Promise<{ readonly account: string; readonly name: string }[]> => {
  const found: { account: string; name: string }[] = [];
  for await (const { key } of walkTable(reader, archives)) found.push({ account: key[0], name: key[1] });
  return found;
};

/** Creates or replaces an archive. */
export const putArchive = (
  transaction: Transaction,
  account: string,
  archive: MessageInitShape<typeof ArchiveRecordSchema> & { readonly name: string },
): void => transaction.put(archives, [account, archive.name], archive);

/** Deletes an archive, but not the events that it keeps; nothing happens if it does not exist. */
export const deleteArchive = (transaction: Transaction, account: string, name: string): void =>
  transaction.delete(archives, [account, name]);

/** The name of an archive as a holder of its events. */
export const archiveHolder = (archiveId: string): string => `archive:${archiveId}`;

/**
 * Puts an event into an archive. Unless it keeps its own `copy` of the event, under its key, the caller adds the
 * archive to the holders of the event.
 */
export const putArchiveEntry = (
  transaction: Transaction,
  { account, ingestedMs, eventId }: EventKey,
  archiveId: string,
  event: EventRecord,
  copy?: EventRecord,
): void => {
  const sizeBytes = BigInt(Buffer.byteLength(eventJson(event)));
  const eventMs = Math.max(0, Number(event.timeMs));
  transaction.put(archiveEntries, [account, archiveId, eventMs, ingestedMs, eventId], { sizeBytes, event: copy });
  transaction.put(archiveCounts, [account, archiveId, `${ingestedMs}/${eventId}`], { eventCount: 1n, sizeBytes });
};

/** An event of an archive. */
interface ArchivedEvent {
  readonly place: ArchivePlace;
  /** As it is stored, sealed or not. Undefined: it is damaged or missing. */
  readonly event: EventRecord | undefined;
}

/** At most `limit` events of an archive in order of their time, from an instant or after an entry, to an instant. */
export const listArchivedEvents = async (
  reader: Reader,
  account: string,
  archiveId: string,
  range: { readonly fromMs: number; readonly toMs: number; readonly after: ArchivePlace | undefined },
  limit: number,
): Promise<ArchivedEvent[]> => {
  const { fromMs, toMs, after } = range;
  const entries = walkTable(reader, archiveEntries, {
    prefix: [account, archiveId],
    ...(after === undefined
      ? { from: [account, archiveId, fromMs] as const }
      : { after: [account, archiveId, Number(after.eventMs), Number(after.ingestedMs), after.eventId] as const }),
    to: [account, archiveId, toMs],
    limit,
  });
  const found: ArchivedEvent[] = [];
  for await (const { key, value } of entries) {
    const [, , eventMs, ingestedMs, eventId] = key;
    const event =
      value && (value.event ?? (await findEvent(reader, { account, ingestedMs, eventId }).catch(undefinedIfDamaged)));
    const place = { eventMs: BigInt(eventMs), ingestedMs: BigInt(ingestedMs), eventId };
    found.push({ place: create(ArchivePlaceSchema, place), event });
  }
  return found;
};

/** The events that an archive keeps, together. */
interface ArchiveSize {
  readonly eventCount: bigint;
  readonly sizeBytes: bigint;
}

/** A place in an archive as a text: its two instants and its id, with slashes between them. */
export const placeText = ({ eventMs, ingestedMs, eventId }: ArchivePlace): string =>
  `${eventMs}/${ingestedMs}/${eventId}`;

/** The place that a text names; undefined: it is malformed. */
export const parsePlace = (text: string): ArchivePlace | undefined => {
  const [, eventMs, ingestedMs, eventId] = /^([0-9]{1,15})\/([0-9]{1,15})\/(.+)$/.exec(text) ?? [];
  if (eventMs === undefined || ingestedMs === undefined || eventId === undefined) return undefined;
  return create(ArchivePlaceSchema, { eventMs: BigInt(eventMs), ingestedMs: BigInt(ingestedMs), eventId });
};

/**
 * The size of an archive. It reads a limited number of counts, so events of the last minute may be missing if they are
 * many.
 */
export const archiveSizeOf = async (reader: Reader, account: string, archive: ArchiveRecord): Promise<ArchiveSize> => {
  let { eventCount, sizeBytes } = archive;
  for await (const { value } of walkTable(reader, archiveCounts, { prefix: [account, archive.id], limit: countsMax })) {
    eventCount += value?.eventCount ?? 1n;
    sizeBytes += value?.sizeBytes ?? 0n;
  }
  return { eventCount, sizeBytes };
};

/**
 * Adds counts of an archive to its record. Returns whether there may be more. A damaged one counts as an event whose
 * size is not known.
 */
export const addUpCounts = async (transaction: Transaction, account: string, name: string): Promise<boolean> => {
  const archive = await findArchive(transaction, account, name);
  if (archive === undefined) return false;
  let count = 0;
  const range = { prefix: [account, archive.id] as [string, string], limit: countsMax };
  for await (const { key, value } of walkTable(transaction, archiveCounts, range)) {
    archive.eventCount += value?.eventCount ?? 1n;
    archive.sizeBytes += value?.sizeBytes ?? 0n;
    transaction.delete(archiveCounts, key);
    count += 1;
  }
  if (count > 0) putArchive(transaction, account, archive);
  return count === countsMax;
};

/**
 * Deletes some entries of an archive whose events happened before an instant (undefined: at any time), and those of the
 * events that nothing else holds. Returns the size of the deleted entries, as far as they are not damaged, and whether
 * there may be more.
 */
export const deleteEntries = async (
  transaction: Transaction,
  account: string,
  archiveId: string,
  options: { readonly beforeMs: number | undefined; readonly keptSinceMs: number; readonly limit: number },
): Promise<ArchiveSize & { readonly hasMore: boolean }> => {
  const entries = walkTable(transaction, archiveEntries, {
    prefix: [account, archiveId],
    ...(options.beforeMs === undefined ? {} : { to: [account, archiveId, options.beforeMs] as const }),
    limit: options.limit,
  });
  let [count, copiesBytes, sizeBytes] = [0, 0, 0n];
  for await (const { key, value } of entries) {
    const [, , , ingestedMs, eventId] = key;
    transaction.delete(archiveEntries, key);
    if (value?.event === undefined)
      await releaseEvent(transaction, { account, ingestedMs, eventId }, archiveHolder(archiveId), options.keptSinceMs);
    else copiesBytes += value.event.sealed?.content.byteLength ?? 0;
    count += 1;
    sizeBytes += value?.sizeBytes ?? 0n;
    if (copiesBytes >= copiesBytesMax) break;
  }
  const hasMore = count === options.limit || copiesBytes >= copiesBytesMax;
  return { eventCount: BigInt(count), sizeBytes, hasMore };
};

/** Deletes the counts of a deleted archive. */
export const deleteCounts = (transaction: Transaction, account: string, archiveId: string): Promise<void> =>
  transaction.deleteRange(archiveCounts, { prefix: [account, archiveId] });
