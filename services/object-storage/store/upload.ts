import type { MessageInitShape } from "@bufbuild/protobuf";

import type {
  FinishedUploadRecord,
  PartRecord,
  PartRecordSchema,
  UploadRecord,
  UploadRecordSchema,
} from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Entry, Reader, Store, Transaction } from "../../kit/store/store.ts";
import type { ListingSeek, NamedRow } from "../domain/listing.ts";
import { releaseExtents } from "./blob.ts";
import { finishedUploads, finishedUploadTimes, parts, uploads } from "./layout.ts";

/** Which upload: an upload id belongs to one key of one bucket. */
export interface UploadPlace {
  readonly bucketId: string;
  readonly key: string;
  readonly uploadId: string;
}

/** Where an upload stands among all of its bucket. */
export interface UploadPosition {
  readonly key: string;
  /** Undefined: behind all uploads of the key. */
  readonly uploadId: string | undefined;
}

/** The open upload, if it is one. */
export const findUpload = (reader: Reader, place: UploadPlace): Promise<UploadRecord | undefined> =>
  reader.get(uploads, [place.bucketId, place.key, place.uploadId]);

/** Opens an upload. */
export const createUpload = (
  transaction: Transaction,
  place: UploadPlace,
  upload: MessageInitShape<typeof UploadRecordSchema>,
): void => {
  transaction.put(uploads, [place.bucketId, place.key, place.uploadId], upload);
};

/** Stores a part and frees the one that it replaces. */
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

/** The stored parts of an upload behind a number, in order. */
export const listStoredParts = (
  reader: Reader,
  uploadId: string,
  after: number,
  limit: number,
): Promise<Entry<readonly [string, number], PartRecord>[]> =>
  reader.list(parts, { prefix: [uploadId], after: [uploadId, after], limit });

/** All stored parts of an upload by number. */
export const readParts = async (reader: Reader, uploadId: string): Promise<Map<number, PartRecord>> => {
  const found = new Map<number, PartRecord>();
  for await (const { key, value } of reader.range(parts, { prefix: [uploadId] })) found.set(key[1], value);
  return found;
};

/** Ends an upload. The content of its parts is freed, but for those that an object has taken over. */
export const endUpload = async (
  transaction: Transaction,
  place: UploadPlace,
  stored: ReadonlyMap<number, PartRecord>,
  isTaken: (partNumber: number) => boolean,
  nowMs: number,
): Promise<void> => {
  transaction.delete(uploads, [place.bucketId, place.key, place.uploadId]);
  for (const [partNumber, part] of stored) {
    transaction.delete(parts, [place.uploadId, partNumber]);
    if (!isTaken(partNumber)) await releaseExtents(transaction, part.extents, nowMs);
  }
};

/** What completing the upload answered, if it was completed not long ago. */
export const findFinishedUpload = (reader: Reader, place: UploadPlace): Promise<FinishedUploadRecord | undefined> =>
  reader.get(finishedUploads, [place.bucketId, place.key, place.uploadId]);

/** Remembers what completing the upload answers. */
export const putFinishedUpload = (
  transaction: Transaction,
  place: UploadPlace,
  finished: Pick<FinishedUploadRecord, "finishedTimeMs" | "eTag" | "checksum">,
): void => {
  const { bucketId, key, uploadId } = place;
  transaction.put(finishedUploads, [bucketId, key, uploadId], finished);
  transaction.put(finishedUploadTimes, [Number(finished.finishedTimeMs), bucketId, key, uploadId], {});
};

/** Finished uploads that one transaction forgets. */
const forgetStep = 500;

/** Forgets uploads that were completed before the instant, oldest first; reads no others. Gives how many. */
export const forgetFinishedUploads = async (store: Store, beforeMs: number): Promise<number> => {
  for (let forgotten = 0; ;) {
    const count = await store.transact(async (transaction) => {
      const old = await transaction.list(finishedUploadTimes, { to: [Math.max(0, beforeMs)], limit: forgetStep });
      for (const { key } of old) {
        const [, bucketId, name, uploadId] = key;
        transaction.delete(finishedUploadTimes, key);
        transaction.delete(finishedUploads, [bucketId, name, uploadId]);
      }
      return old.length;
    });
    forgotten += count;
    if (count < forgetStep) return forgotten;
  }
};

/** Reads open uploads of a bucket whose keys begin with the prefix. */
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
