import type { MessageInitShape } from "@bufbuild/protobuf";

import type { VersionRecord, VersionRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Extent } from "../domain/extent.ts";
import { isReplica } from "../domain/replication.ts";
import { enterDirectory } from "./directory.ts";
import { nullVersions, versions } from "./layout.ts";
import type { VersionedBucket } from "./object.ts";
import { findCurrentRow, findNewest } from "./object.ts";
import { replaceEntries } from "./search-index.ts";
import { countVersion } from "./stored-amounts.ts";
import type { VersionRequired } from "./version-change.ts";
import { deleteCurrentRow, putCurrentRow } from "./version-change.ts";

type Replica = Omit<MessageInitShape<typeof VersionRecordSchema>, "$typeName" | "extents" | "tags" | "acl"> &
  VersionRequired &
  Pick<VersionRecord, "versionId" | "tags" | "acl">;

/**
 * Stores the replica of a version under the version's own id and sequence, among the versions of its key; the newest
 * becomes current. Of a replica that is there, replaces the tags, the ACL and the owner; its lock, its class and its
 * content are its own. `extents` adds references to the content of a new one. "kept": the version is there and no
 * replica, which no copy of it changes; "taken": another version, which was made in another region, has the sequence.
 */
export const putReplica = async (
  transaction: Transaction,
  { bucketId, searchIndex }: VersionedBucket,
  key: string,
  sequence: number,
  replica: Replica,
  extents: (transaction: Transaction) => Promise<readonly Extent[]>,
): Promise<"new" | "changed" | "kept" | "taken"> => {
  const before = await transaction.get(versions, [bucketId, key, sequence]);
  if (before !== undefined && before.versionId !== replica.versionId) return "taken";
  if (before !== undefined && !isReplica(before)) return "kept";
  const newest = await findNewest(transaction, bucketId, key);
  if (before !== undefined) {
    const { acl: _replaced, ...kept } = before;
    const { tags, acl, ownerAccountId } = replica;
    const changed = { ...kept, tags, ...(acl && { acl }), ownerAccountId };
    transaction.put(versions, [bucketId, key, sequence], changed);
    if (newest?.sequence === sequence && !before.isDeleteMarker) {
      putCurrentRow(transaction, bucketId, key, sequence, changed);
      if (searchIndex !== undefined) replaceEntries(transaction, searchIndex, key, before, changed);
    }
    return "changed";
  }
  transaction.put(versions, [bucketId, key, sequence], { ...replica, extents: [...(await extents(transaction))] });
  const { isDeleteMarker = false, sizeBytes } = replica;
  countVersion(transaction, { isDeleteMarker, sizeBytes }, 1);
  if (newest !== undefined && newest.sequence > sequence) return "new";
  const row = await findCurrentRow(transaction, bucketId, key);
  if (row?.versionId === "") transaction.put(nullVersions, [bucketId, key], { sequence: row.sequence });
  if (replica.isDeleteMarker !== true) {
    putCurrentRow(transaction, bucketId, key, sequence, replica);
    if (row === undefined) await enterDirectory(transaction, bucketId, key);
  } else if (row !== undefined) await deleteCurrentRow(transaction, bucketId, key);
  if (searchIndex !== undefined)
    replaceEntries(transaction, searchIndex, key, row && newest?.version, replica.isDeleteMarker ? undefined : replica);
  return "new";
};
