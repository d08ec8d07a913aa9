import type { CompletedPart } from "../../../gen/quartet/objectstorage/v1/multipart_upload_pb.ts";
import type { PartRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { digestBytes } from "../../kit/digests/digest.ts";
import { fault, invalidArgument, invalidRequest } from "../faults.ts";
import type { Limits } from "../limits.ts";
import { limits } from "../limits.ts";
import type { ChecksumMembers } from "./checksum-algorithm.ts";
import { checksumAlgorithms, checksumMembers, decodeDigest, encodeDigest } from "./checksum-algorithm.ts";
import { unquoteETag } from "./conditions.ts";
import { combineCrcs } from "./crc-combination.ts";
import type { Extent } from "./extent.ts";
import type { UploadChecksum } from "./multipart-checksum.ts";

/** One well-formed entry of the list of parts. */
export interface ListedPart {
  readonly partNumber: number;
  /** Without quotes. */
  readonly eTag: string;
  readonly checksums: ChecksumMembers;
}

/** A listed part with its record. */
export interface ChosenPart {
  readonly listed: ListedPart;
  readonly stored: PartRecord;
}

/** The object that the parts become. */
export interface CompletedObject {
  /** Without quotes. */
  readonly eTag: string;
  readonly sizeBytes: number;
  readonly extents: readonly Extent[];
  readonly parts: readonly { readonly partNumber: number; readonly sizeBytes: bigint; readonly checksum: Uint8Array }[];
  readonly checksum: Uint8Array;
}

/** Computes the digest of bytes. */
export type DigestOf = (name: string, bytes: Uint8Array) => Promise<Uint8Array>;

/**
 * Reads the list of parts. Throws MALFORMED_XML for an empty list or entry, INVALID_ARGUMENT for a number out of range,
 * INVALID_PART_ORDER.
 */
export const readPartList = (parts: readonly CompletedPart[], uploadId: string): ListedPart[] => {
  if (parts.length === 0) throw fault(ErrorReason.MALFORMED_XML);
  const listed = parts.map(({ partNumber, eTag, ...checksums }) => {
    if (partNumber === undefined || eTag === undefined) throw fault(ErrorReason.MALFORMED_XML);
    if (partNumber < 1 || partNumber > limits.partNumberMax)
      throw invalidArgument("PartNumber", String(partNumber), "PartNumber must be >= 1 and <= 10000");
    return { partNumber, eTag: unquoteETag(eTag), checksums };
  });
  if (listed.some((part, index) => index > 0 && part.partNumber <= (listed[index - 1]?.partNumber ?? 0)))
    throw fault(ErrorReason.INVALID_PART_ORDER, { upload_id: uploadId });
  return listed;
};

/**
 * Finds the record of each listed part. Throws INVALID_PART for an unknown part, another ETag or checksum,
 * INVALID_REQUEST for a checksum that the upload requires and the list lacks.
 */
export const chooseParts = (
  listed: readonly ListedPart[],
  stored: ReadonlyMap<number, PartRecord>,
  checksum: UploadChecksum,
  uploadId: string,
): ChosenPart[] =>
  listed.map((part) => {
    const record = stored.get(part.partNumber);
    const invalid = () =>
      fault(ErrorReason.INVALID_PART, {
        part_number: String(part.partNumber),
        e_tag: part.eTag,
        upload_id: uploadId,
      });
    if (record === undefined || Buffer.from(record.md5).toString("hex") !== part.eTag) throw invalid();
    const given = checksumAlgorithms.filter((algorithm) => part.checksums[checksumMembers[algorithm]] !== undefined);
    const expected = record.checksum === undefined ? "" : encodeDigest(record.checksum.value);
    for (const algorithm of given)
      if (algorithm !== checksum.algorithm || part.checksums[checksumMembers[algorithm]] !== expected) throw invalid();
    if (checksum.isRequested && checksum.type === "COMPOSITE" && given.length === 0)
      throw invalidRequest(
        `The upload was created using a ${checksum.algorithm.toLowerCase()} checksum. ` +
          "The complete request must include the checksum for each part. " +
          `It was missing for part ${part.partNumber} in the request.`,
      );
    return { listed: part, stored: record };
  });

/**
 * The object that the chosen parts become. Throws ENTITY_TOO_SMALL for a small part before the last one,
 * ENTITY_TOO_LARGE for the whole.
 */
export const completeObject = async (
  chosen: readonly ChosenPart[],
  checksum: UploadChecksum,
  sizes: Pick<Limits, "partBytesMin" | "objectBytesMax">,
  digestOf: DigestOf,
): Promise<CompletedObject> => {
  for (const { listed, stored } of chosen.slice(0, -1))
    if (Number(stored.sizeBytes) < sizes.partBytesMin)
      throw fault(ErrorReason.ENTITY_TOO_SMALL, {
        proposed_size: String(stored.sizeBytes),
        min_size_allowed: String(sizes.partBytesMin),
        part_number: String(listed.partNumber),
        e_tag: listed.eTag,
      });
  const sizeBytes = chosen.reduce((sum, { stored }) => sum + Number(stored.sizeBytes), 0);
  if (sizeBytes > sizes.objectBytesMax)
    throw fault(ErrorReason.ENTITY_TOO_LARGE, {
      proposed_size: String(sizeBytes),
      max_size_allowed: String(sizes.objectBytesMax),
    });
  const md5 = await digestOf("MD5", Buffer.concat(chosen.map(({ stored }) => stored.md5)));
  return {
    eTag: `${Buffer.from(md5).toString("hex")}-${chosen.length}`,
    sizeBytes,
    extents: chosen.flatMap(({ stored }) => stored.extents),
    parts: chosen.map(({ listed, stored }) => ({
      partNumber: listed.partNumber,
      sizeBytes: stored.sizeBytes,
      checksum: checksum.isRequested ? checksumOf(stored) : new Uint8Array(),
    })),
    checksum: await objectChecksum(chosen, checksum, digestOf),
  };
};

/** Throws INVALID_REQUEST for several checksums of the object. */
export const checkOneChecksum = (request: ChecksumMembers): void => {
  if (checksumAlgorithms.filter((algorithm) => request[checksumMembers[algorithm]] !== undefined).length > 1)
    throw invalidRequest("Expecting a single x-svc-checksum- header. Multiple checksum Types are not allowed.");
};

/** Throws INVALID_REQUEST or BAD_DIGEST if the request's size, checksum type or checksum is not the object's. */
export const checkCompletion = (
  request: ChecksumMembers & { readonly mpuObjectSize?: bigint; readonly checksumType?: string },
  object: CompletedObject,
  checksum: UploadChecksum,
): void => {
  if (request.mpuObjectSize !== undefined && Number(request.mpuObjectSize) !== object.sizeBytes)
    throw invalidRequest(
      `The provided 'x-svc-mp-object-size' header value ${request.mpuObjectSize} does not match what was computed: ` +
        `${object.sizeBytes}`,
    );
  if (request.checksumType !== undefined && request.checksumType.toUpperCase() !== checksum.type)
    throw invalidRequest(
      `The upload was created using the ${checksum.type} checksum mode. ` +
        "The complete request must use the same checksum mode.",
    );
  const shown = encodeDigest(object.checksum) + (checksum.type === "COMPOSITE" ? `-${object.parts.length}` : "");
  for (const algorithm of checksumAlgorithms) {
    const given = request[checksumMembers[algorithm]];
    if (given === undefined) continue;
    if (algorithm !== checksum.algorithm)
      throw invalidRequest(
        `The upload was created using a ${checksum.algorithm.toLowerCase()} checksum. ` +
          "The complete request must use the same one.",
      );
    const [digest = "", parts] = given.split("-");
    const isDigest = decodeDigest(digest, digestBytes[algorithm]) !== undefined;
    if (!isDigest || (parts !== undefined && !/^\d+$/.test(parts)))
      throw invalidRequest(`Value for x-svc-checksum-${algorithm.toLowerCase()} header is invalid.`);
    if (given !== shown && given !== encodeDigest(object.checksum))
      throw fault(ErrorReason.BAD_DIGEST, {
        digest_name: algorithm,
        calculated_digest: shown,
        expected_digest: given,
      });
  }
};

const objectChecksum = (
  chosen: readonly ChosenPart[],
  { algorithm, type }: UploadChecksum,
  digestOf: DigestOf,
): Uint8Array | Promise<Uint8Array> =>
  type === "COMPOSITE"
    ? digestOf(algorithm, Buffer.concat(chosen.map(({ stored }) => checksumOf(stored))))
    : combineCrcs(
        algorithm,
        chosen.map(({ stored }) => ({ checksum: checksumOf(stored), sizeBytes: Number(stored.sizeBytes) })),
      );

const checksumOf = (part: PartRecord): Uint8Array => part.checksum?.value ?? new Uint8Array();
