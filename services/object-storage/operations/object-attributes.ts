import type { GetObjectAttributesRequest } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { VersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { useBucket } from "../access/bucket-access.ts";
import type { Context } from "../application.ts";
import { checksumMembers, encodeDigest, findChecksumAlgorithm } from "../domain/checksum-algorithm.ts";
import { instant } from "../domain/instant.ts";
import { checkVersionId, describeChecksum } from "../domain/object-version.ts";
import { refuseUnoffered } from "../domain/offer.ts";
import { fault, invalidArgument } from "../faults.ts";
import { findCurrent } from "../store/object.ts";

const partsPerPageMax = 1000;
const known = new Set(["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"]);

/**
 * Tells the attributes of an object that the request names. Refuses what is not offered, an unknown attribute, a version
 * id that no object here has, then as every use of a bucket does, then an unknown key.
 */
export const getObjectAttributes = async (request: GetObjectAttributesRequest, context: Context) => {
  refuseUnoffered(request);
  for (const attribute of request.objectAttributes)
    if (!known.has(attribute))
      throw invalidArgument("x-svc-object-attributes", attribute, "Invalid attribute name specified.");
  checkVersionId(request.versionId);
  const { version } = await context.app.store.read(async (reader) => {
    const { bucketId } = await useBucket(reader, context, request);
    const found = await findCurrent(reader, bucketId, request.key);
    if (found === undefined) throw fault(ErrorReason.NO_SUCH_KEY, { key: request.key });
    return found;
  });

  const asked = new Set(request.objectAttributes);
  return {
    lastModified: instant(Number(version.lastModifiedMs)),
    eTag: asked.has("ETag") ? version.eTag : undefined,
    checksum: asked.has("Checksum") ? describeChecksum(version) : undefined,
    objectParts: asked.has("ObjectParts") ? describeParts(version, request) : undefined,
    storageClass: asked.has("StorageClass") ? version.storageClass : undefined,
    objectSize: asked.has("ObjectSize") ? version.sizeBytes : undefined,
  };
};

const describeParts = (version: VersionRecord, request: GetObjectAttributesRequest) => {
  if (version.parts.length === 0) return undefined;
  const marker = request.partNumberMarker ?? 0;
  const maxParts = Math.min(request.maxParts ?? partsPerPageMax, partsPerPageMax);
  const numbered = version.parts.map((part, index) => ({ part, partNumber: index + 1 }));
  const rest = numbered.filter(({ partNumber }) => partNumber > marker);
  const page = rest.slice(0, maxParts);
  const algorithm = findChecksumAlgorithm(version.checksum?.algorithm ?? "");
  return {
    partsCount: version.parts.length,
    partNumberMarker: marker,
    nextPartNumberMarker: page.at(-1)?.partNumber ?? 0,
    maxParts,
    isTruncated: rest.length > page.length,
    parts: page.map(({ part, partNumber }) => ({
      partNumber,
      size: part.sizeBytes,
      ...(algorithm === undefined ? {} : { [checksumMembers[algorithm]]: encodeDigest(part.checksum) }),
    })),
  };
};
