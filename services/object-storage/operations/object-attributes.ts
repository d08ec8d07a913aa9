import type { VersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { GetObjectAttributesRequest } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Operation } from "../application.ts";
import { openVersion } from "../content/version-lookup.ts";
import { checksumMembers, encodeDigest, findChecksumAlgorithm } from "../domain/checksum-algorithm.ts";
import { instant } from "../domain/instant.ts";
import { describeChecksum } from "../domain/object-version.ts";
import { shownVersionId } from "../domain/versioning.ts";
import { checkCustomerKey, checkDecryption } from "../encryption/content-encryption.ts";
import { readCustomerKey } from "../encryption/customer-key.ts";
import { invalidArgument, invalidRequest } from "../faults.ts";
import { limits } from "../limits.ts";

const knownAttributes = new Set(["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"]);

/**
 * Returns the attributes of an object that the request names. Checks, in order:
 *  1. the caller's key is valid, see `readCustomerKey`;
 *  2. it names attributes (INVALID_REQUEST) that are known (INVALID_ARGUMENT);
 *  3. the version exists, see `openVersion`;
 *  4. the caller's key is the object's, see `checkCustomerKey`, and the caller may decrypt with its managed key.
 */
export const getObjectAttributes: Operation<"getObjectAttributes"> = async (request, context) => {
  const customerKey = readCustomerKey(request);
  if (request.objectAttributes.every((attribute) => attribute === ""))
    throw invalidRequest(
      "The x-svc-object-attributes header specifying the attributes to be retrieved is either missing or empty",
    );
  for (const attribute of request.objectAttributes)
    if (!knownAttributes.has(attribute))
      throw invalidArgument("x-svc-object-attributes", attribute, "Invalid attribute name specified.");
  const { bucket, found } = await context.app.store.read((reader) => openVersion(reader, context, request));
  const { version } = found;
  checkCustomerKey(context, context.access.bucket, request.key, version.encryption, customerKey);
  checkDecryption(context, context.access.bucket, version.encryption);

  const named = new Set(request.objectAttributes);
  return {
    lastModified: instant(Number(version.lastModifiedMs)),
    versionId: shownVersionId(bucket.versioning, version),
    eTag: named.has("ETag") ? version.eTag : undefined,
    checksum: named.has("Checksum") ? describeChecksum(version, false) : undefined,
    objectParts: named.has("ObjectParts") ? describeParts(version, request) : undefined,
    storageClass: named.has("StorageClass") ? version.storageClass : undefined,
    objectSize: named.has("ObjectSize") ? version.sizeBytes : undefined,
  };
};

const describeParts = (version: VersionRecord, request: GetObjectAttributesRequest) => {
  if (version.parts.length === 0) return undefined;
  const marker = request.partNumberMarker ?? 0;
  const maxParts = Math.min(request.maxParts ?? limits.entriesPerPageMax, limits.entriesPerPageMax);
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
      ...(algorithm === undefined || part.checksum.length === 0
        ? {}
        : { [checksumMembers[algorithm]]: encodeDigest(part.checksum) }),
    })),
  };
};
