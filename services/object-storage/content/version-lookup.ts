import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { BucketAccess } from "../access/access.ts";
import { checkVersionId, shownVersionId } from "../domain/versioning.ts";
import { fault } from "../faults.ts";
import type { Bucket } from "../store/bucket.ts";
import type { StoredVersion } from "../store/object.ts";
import { findCurrent, findNewest, findVersion } from "../store/object.ts";

/** The part of a call's context that finding a version needs. */
export interface LookupContext {
  readonly access: BucketAccess;
  /** Receives what refusals say about a delete marker. */
  readonly responseHeader: Headers;
}

/** A version, and its bucket. */
export interface OpenedVersion {
  readonly bucket: Bucket;
  readonly found: StoredVersion;
}

/**
 * The version that a request names, or the current one, with its bucket. Throws, in this order: INVALID_VERSION_ID;
 * NO_SUCH_KEY if the key has no current version; NO_SUCH_VERSION; METHOD_NOT_ALLOWED for a delete marker. Who may not
 * list the bucket is refused with ACCESS_DENIED where something does not exist.
 */
export const openVersion = async (
  reader: Reader,
  { access, responseHeader }: LookupContext,
  { key, versionId }: { readonly key: string; readonly versionId?: string },
): Promise<OpenedVersion> => {
  const bucket = await access.bucket.in(reader);
  checkVersionId(bucket.versioning, versionId);
  const showMarker = (marker: StoredVersion): void => {
    responseHeader.set("x-svc-delete-marker", "true");
    responseHeader.set("x-svc-version-id", shownVersionId(bucket.versioning, marker.version) ?? "");
  };

  if (versionId === undefined || bucket.versioning === "") {
    const found = await findCurrent(reader, bucket.bucketId, key);
    if (found !== undefined) return { bucket, found };
    const refusal = access.bucket.noSuchKey(key);
    const isShown = bucket.versioning !== "" && refusal.facts.number === ErrorReason.NO_SUCH_KEY;
    const marker = isShown ? await findNewest(reader, bucket.bucketId, key) : undefined;
    if (marker !== undefined) showMarker(marker);
    throw refusal;
  }

  const found = await findVersion(reader, bucket.bucketId, key, versionId);
  if (found === undefined) throw access.bucket.noSuchVersion(key, versionId);
  if (!found.version.isDeleteMarker) return { bucket, found };
  showMarker(found);
  responseHeader.set("last-modified", new Date(Number(found.version.lastModifiedMs)).toUTCString());
  responseHeader.set("allow", "DELETE");
  throw fault(ErrorReason.METHOD_NOT_ALLOWED, { resource_type: "DeleteMarker" });
};
