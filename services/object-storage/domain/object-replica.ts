import type { PutObjectReplicaRequest } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { digestBytes } from "../../kit/digests/digest.ts";
import { fault, invalidArgument, invalidRequest } from "../faults.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { limits } from "../limits.ts";
import type { ChecksumAlgorithm, ChecksumType } from "./checksum-algorithm.ts";
import { findChecksumAlgorithm } from "./checksum-algorithm.ts";
import { unquoteETag } from "./conditions.ts";
import type { ChecksumPlan } from "./expected-checksums.ts";
import { planChecksums } from "./expected-checksums.ts";
import type { Instant } from "./instant.ts";
import { instantMs } from "./instant.ts";
import { findSequence, sequenceMs } from "./versioning.ts";

/** A version as another installation has it, less what describes every object. */
export interface ObjectReplica {
  readonly sequence: number;
  readonly versionId: string;
  readonly lastModifiedMs: number;
  readonly isDeleteMarker: boolean;
  /** Without quotes. Empty: a delete marker. */
  readonly eTag: string;
  readonly sizeBytes: number;
  readonly checksum:
    | { readonly algorithm: ChecksumAlgorithm; readonly type: ChecksumType; readonly value: Uint8Array }
    | undefined;
  readonly parts: readonly ReplicatedPart[];
}

interface ReplicatedPart {
  /** From 1. */
  readonly partNumber: number;
  readonly sizeBytes: bigint;
  /** Empty: it has none. */
  readonly checksum: Uint8Array;
}

/**
 * Reads a version of another installation. Throws, in this order: INVALID_VERSION_ID; INVALID_ARGUMENT for an instant
 * that the clock here has not come near, for an ETag, a checksum or parts that no version has, and for a delete marker
 * with content.
 */
export const readReplica = (request: PutObjectReplicaRequest, nowMs: number): ObjectReplica => {
  const { versionId, lastModified, deleteMarker: isDeleteMarker = false, contentLength } = request;
  const sequence = findSequence(versionId);
  if (sequence === undefined)
    throw fault(ErrorReason.INVALID_VERSION_ID, { argument_name: "version_id", argument_value: versionId });
  const latestMs = nowMs + limits.replicaAheadMsMax;
  if (sequenceMs(sequence) > latestMs)
    throw invalidArgument("version_id", versionId, "The version is of an instant that has not come.");
  const lastModifiedMs = instantMs(lastModified as Instant);
  if (lastModifiedMs < 0 || lastModifiedMs > latestMs)
    throw invalidArgument("last_modified", String(lastModifiedMs), "The version is of an instant that has not come.");
  const sizeBytes = Number(contentLength);
  const made = { sequence, versionId, lastModifiedMs, isDeleteMarker };
  if (isDeleteMarker) {
    if (sizeBytes > 0 || request.eTag !== "" || request.parts.length > 0 || request.checksum !== undefined)
      throw invalidArgument("delete_marker", "true", "A delete marker has no content.");
    return { ...made, eTag: "", sizeBytes, checksum: undefined, parts: [] };
  }
  const eTag = unquoteETag(request.eTag);
  if (!/^[0-9a-f]{32}(?:-[1-9][0-9]{0,4})?$/.test(eTag))
    throw invalidArgument("e_tag", request.eTag, "The ETag is not one of an object.");
  const checksum = readChecksum(request);
  return { ...made, eTag, sizeBytes, checksum, parts: readParts(request, checksum?.algorithm) };
};

/**
 * What the content of a replica is compared with: the checksum of its version where that is one of the whole content,
 * else the one that comes with it. Throws as `planChecksums` does.
 */
export const planReplicaChecksum = (
  { checksum }: Pick<ObjectReplica, "checksum">,
  { checksumCrc64nvme }: Pick<PutObjectReplicaRequest, "checksumCrc64nvme">,
): ChecksumPlan => {
  const given = planChecksums({
    checksumAlgorithm: "CRC64NVME",
    ...(checksumCrc64nvme !== undefined && { checksumCrc64nvme }),
  });
  if (checksum?.type !== "FULL_OBJECT") return given;
  if (given.expected !== undefined) throw invalidRequest("The checksum of the whole content is given twice.");
  return { algorithm: checksum.algorithm, isRequested: true, expected: checksum.value, contentMd5: undefined };
};

const readChecksum = ({ checksum }: PutObjectReplicaRequest): ObjectReplica["checksum"] => {
  if (checksum === undefined) return undefined;
  const algorithm = findChecksumAlgorithm(checksum.algorithm);
  if (algorithm === undefined || checksum.value.length !== digestBytes[algorithm])
    throw invalidArgument("checksum", checksum.algorithm, "The checksum is not one of a known algorithm.");
  return { algorithm, type: checksum.type as ChecksumType, value: checksum.value };
};

const readParts = (
  { parts, contentLength }: PutObjectReplicaRequest,
  algorithm: ChecksumAlgorithm | undefined,
): readonly ReplicatedPart[] => {
  const checksumBytes = algorithm === undefined ? 0 : digestBytes[algorithm];
  const isValid =
    parts.length <= limits.partsPerObjectMax &&
    parts.every(({ checksum }) => checksum.length === 0 || checksum.length === checksumBytes) &&
    (parts.length === 0 || parts.reduce((sum, { size }) => sum + size, 0n) === contentLength);
  if (!isValid) throw invalidArgument("parts", String(parts.length), "The parts are not those of the content.");
  return parts.map(({ size, checksum }, index) => ({ partNumber: index + 1, sizeBytes: size, checksum }));
};
