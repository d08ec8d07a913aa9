import type { MessageInitShape } from "@bufbuild/protobuf";

import type {
  FinishedUploadRecord,
  PartRecord,
  PartRecordSchema,
  UploadRecord,
  UploadRecordSchema,
} from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Entry, Reader, Transaction } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import type { ListingSeek, NamedRow } from "../domain/listing.ts";
import { releaseExtents } from "./blob.ts";
import { finishedUploads, finishedUploadTimes, parts, uploads } from "./layout.ts";

/** The identity of an upload: an upload id belongs to one key of one bucket. */
export interface UploadReference {
  readonly bucketId: string;
  readonly key: string;
  readonly uploadId: string;
}

/** The position of an upload among all of its bucket. */
export interface UploadPosition {
  readonly key: string;
  /** Undefined: after all uploads of the key. */
  readonly uploadId: string | undefined;
}

/** The upload; undefined if it is not open. */
export const findUpload = (reader: Reader, reference: UploadReference): Promise<UploadRecord | undefined> =>
  reader.get(uploads, [reference.bucketId, reference.key, reference.uploadId]);

/** Stores a new upload. */
export const createUpload = (
  transaction: Transaction,
  reference: UploadReference,
  upload: MessageInitShape<typeof UploadRecordSchema>,
): void => {
  transaction.put(uploads, [reference.bucketId, reference.key, reference.uploadId], upload);
};

/** Stores a part and releases the content of the one that it replaces. */
export const putPart = async (
  transaction: Transaction,
  uploadId: string,
  partNumber: number,
  part: MessageInitShape<typeof PartRecordSchema>,
  nowMs: number,
): Promise<void> => {
  const replaced = await transaction.get(parts, [uploadId, partNumber]);
  if (replaced !== undefined) await releaseExtents(transaction, replaced.extents, nowMs);
  transaction.put(parts, [uploadId, partNumber], part);
};

/** The stored parts of an upload after a number, in order. */
export const listStoredParts = (
  reader: Reader,
  uploadId: string,
  after: number,
  limit: number,
): Promise<Entry<readonly [string, number], PartRecord>[]> =>
  reader.list(parts, { prefix: [uploadId], after: [uploadId, after], limit });

/** All stored parts of an upload by number. */
export const readAllParts = async (reader: Reader, uploadId: string): Promise<Map<number, PartRecord>> => {
  const found = new Map<number, PartRecord>();
  for await (const { key, value } of reader.range(parts, { prefix: [uploadId] })) found.set(key[1], value);
  return found;
};

/** Ends an upload. Releases the content of its parts, except of those that an object now refers to. */
export const endUpload = async (
  transaction: Transaction,
  reference: UploadReference,
  stored: ReadonlyMap<number, PartRecord>,
  isKept: (partNumber: number) => boolean,
  nowMs: number,
): Promise<void> => {
  transaction.delete(uploads, [reference.bucketId, reference.key, reference.uploadId]);
  for (const [partNumber, part] of stored) {
    transaction.delete(parts, [reference.uploadId, partNumber]);
    if (!isKept(partNumber)) await releaseExtents(transaction, part.extents, nowMs);
  }
};

/**
 * Ends open uploads of a bucket until so many parts are released or none is open. Returns whether more may be open.
 */
export const endUploads = async (
  transaction: Transaction,
  bucketId: string,
  partsMax: number,
  nowMs: number,
): Promise<boolean> => {
  let ended = 0;
  for await (const { key } of transaction.range(uploads, { prefix: [bucketId] })) {
    if (ended >= partsMax) return true;
    const [, name, uploadId] = key;
    const stored = await readAllParts(transaction, uploadId);
    await endUpload(transaction, { bucketId, key: name, uploadId }, stored, () => false, nowMs);
    ended += 1 + stored.size;
  }
  return false;
};

/** The answer with which the upload was completed; undefined if it was not, or too long ago. */
export const findFinishedUpload = (
  reader: Reader,
  reference: UploadReference,
): Promise<FinishedUploadRecord | undefined> =>
  reader.get(finishedUploads, [reference.bucketId, reference.key, reference.uploadId]);

/** Stores the answer with which an upload was completed. */
export const putFinishedUpload = (
  transaction: Transaction,
  reference: UploadReference,
  finished: Pick<FinishedUploadRecord, "finishedMs" | "eTag" | "versionId" | "checksum" | "encryption">,
): void => {
  const { bucketId, key, uploadId } = reference;
  transaction.put(finishedUploads, [bucketId, key, uploadId], finished);
  transaction.put(finishedUploadTimes, [Number(finished.finishedMs), bucketId, key, uploadId], {});
};

/** Deletes up to `limit` uploads that were completed before the instant, oldest first. Returns how many it deleted. */
export const deleteFinishedUploads = async (
  transaction: Transaction,
  beforeMs: number,
  limit: number,
): Promise<number> => {
  const old = await Array.fromAsync(walkTable(transaction, finishedUploadTimes, { to: [beforeMs], limit }));
  for (const { key } of old) {
    const [, bucketId, name, uploadId] = key;
    transaction.delete(finishedUploadTimes, key);
    transaction.delete(finishedUploads, [bucketId, name, uploadId]);
  }
  return old.length;
};

/** Reads the open uploads of a bucket whose keys begin with the prefix. */
export const readUploadRows = async (
  reader: Reader,
  bucketId: string,
  prefix: string,
  seek: ListingSeek<UploadPosition>,
  limit: number,
): Promise<NamedRow<{ readonly uploadId: string; readonly upload: UploadRecord }, UploadPosition>[]> => {
  const entries = await reader.list(uploads, {
    prefix: [bucketId, prefix],
    textPrefix: true,
    ...uploadStart(bucketId, seek),
    limit,
  });
  return entries.map(({ key: [, key, uploadId], value }) => ({
    name: key,
    position: { key, uploadId },
    row: { uploadId, upload: value },
  }));
};

const uploadStart = (bucketId: string, seek: ListingSeek<UploadPosition>) => {
  if ("past" in seek) return { past: [bucketId, seek.past] as [string, string] };
  const { key, uploadId } = seek.after;
  if (key === "") return {};
  return uploadId === undefined
    ? { after: [bucketId, key] as [string, string] }
    : { after: [bucketId, key, uploadId] as [string, string, string] };
};
