import { join } from "node:path";

import { fromBinary } from "@bufbuild/protobuf";

import { BlobRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { ContentFile, StoredData } from "../../kit/backup/stored-data.ts";
import type { RawEntry } from "../../kit/store/engine.ts";
import type { Store } from "../../kit/store/store.ts";
import { decodeKey } from "../../kit/store/table.ts";
import { blobPath, isEncryptedPath, openFileBlobStore } from "../blobs/file-blob-store.ts";
import { blobs as blobTable, layout } from "../store/layout.ts";
import { scrubRecords } from "./scrub-records.ts";

/** The blob files, below the service's directory. */
const blobsDirectory = "blobs";

const blobTablePrefix = String.fromCharCode(0, blobTable.number);

/** The file of a blob that is not in the database. */
const fileOf = (record: RawEntry): ContentFile | undefined => {
  if (!record.key.startsWith(blobTablePrefix)) return undefined;
  const { sizeBytes, inlineBody, dataKey } = fromBinary(BlobRecordSchema, record.payload);
  if (inlineBody !== undefined) return undefined;
  const [blobId] = decodeKey(blobTable, record.key);
  return { path: `${blobsDirectory}/${blobPath(blobId, dataKey.length > 0)}`, sizeBytes: Number(sizeBytes) };
};

const openCheck = async (directory: string) => {
  const blobs = await openFileBlobStore({ directory: join(directory, blobsDirectory) });
  return async ({ path, sizeBytes }: ContentFile): Promise<void> => {
    const isEncrypted = isEncryptedPath(path.slice(blobsDirectory.length + 1));
    const blobId = path.slice(path.lastIndexOf("/") + 1);
    for await (const _piece of await blobs.verify(blobId, sizeBytes, isEncrypted));
  };
};

/** The same check as of a running service, as fast as the disk reads. */
const findBroken = async (store: Store) => {
  const pace = { spend: () => Promise.resolve() };
  return (await scrubRecords(store, pace, new AbortController().signal)).damages;
};

/** What the service stores, for backups and their verification. */
export const storedData: StoredData = { layout, content: { fileOf, openCheck }, findBroken };
