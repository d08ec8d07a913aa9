import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { digestBytes } from "../../kit/digests/digest.ts";
import type { ServiceError } from "../../kit/faults/service-error.ts";
import { fault, invalidRequest } from "../faults.ts";
import type { ChecksumAlgorithm, ChecksumMembers } from "./checksum-algorithm.ts";
import {
  checksumAlgorithms,
  checksumMembers,
  decodeDigest,
  encodeDigest,
  defaultChecksumAlgorithm,
  findChecksumAlgorithm,
} from "./checksum-algorithm.ts";

/** The checksum members of a request's head. */
export interface ChecksumRequest extends ChecksumMembers {
  readonly contentMd5?: string;
  readonly checksumAlgorithm?: string;
}

/** The digests to compute of content, and their expected values. */
export interface ChecksumPlan {
  readonly algorithm: ChecksumAlgorithm;
  /** The caller chose the algorithm; otherwise it is the service's default. */
  readonly isRequested: boolean;
  /** Undefined: not given in the head. It may come after the content, as a trailer. */
  readonly expected: Uint8Array | undefined;
  /** Undefined: not given. */
  readonly contentMd5: Uint8Array | undefined;
}

/**
 * Reads the checksum members of a request's head. Throws INVALID_DIGEST for a malformed Content-MD5, INVALID_REQUEST
 * for two checksums, a malformed one, an unknown algorithm, or a value of another algorithm than the one named.
 */
export const planChecksums = (request: ChecksumRequest): ChecksumPlan => {
  const contentMd5 = request.contentMd5 === undefined ? undefined : readContentMd5(request.contentMd5);
  const given = findChecksum(request);
  const named = readAlgorithm(request.checksumAlgorithm);
  if (given !== undefined && named !== undefined && given.algorithm !== named)
    throw invalidRequest("Value for x-svc-sdk-checksum-algorithm header is invalid.");
  return {
    algorithm: given?.algorithm ?? named ?? defaultChecksumAlgorithm,
    isRequested: given !== undefined || named !== undefined,
    expected: given?.value,
    contentMd5,
  };
};

/** The algorithm that a request names; undefined if none. Throws INVALID_REQUEST for an unknown one. */
export const readAlgorithm = (name: string | undefined): ChecksumAlgorithm | undefined => {
  if (name === undefined) return undefined;
  const algorithm = findChecksumAlgorithm(name);
  if (algorithm === undefined)
    throw invalidRequest(
      "Checksum algorithm provided is unsupported. Please try again with any of the valid types: " +
        "[CRC32, CRC32C, CRC64NVME, SHA1, SHA256]",
    );
  return algorithm;
};

/** The one checksum among the members; undefined if none. Throws INVALID_REQUEST for two, or for a malformed one. */
export const findChecksum = (
  members: ChecksumMembers,
): { readonly algorithm: ChecksumAlgorithm; readonly value: Uint8Array } | undefined => {
  const given = checksumAlgorithms.filter((algorithm) => members[checksumMembers[algorithm]] !== undefined);
  if (given.length > 1)
    throw invalidRequest("Expecting a single x-svc-checksum- header. Multiple checksum Types are not allowed.");
  const algorithm = given[0];
  if (algorithm === undefined) return undefined;
  const value = decodeDigest(members[checksumMembers[algorithm]] ?? "", digestBytes[algorithm]);
  if (value === undefined)
    throw invalidRequest(`Value for x-svc-checksum-${algorithm.toLowerCase()} header is invalid.`);
  return { algorithm, value };
};

/** Throws BAD_DIGEST if a digest is expected and the computed one differs. */
export const checkDigest = (name: string, expected: Uint8Array | undefined, computed: Uint8Array): void => {
  if (expected !== undefined && Buffer.compare(expected, computed) !== 0) throw badDigest(name, expected, computed);
};

/** The refusal of content without the digest that came with it. */
const badDigest = (name: string, expected: Uint8Array, computed: Uint8Array): ServiceError =>
  fault(ErrorReason.BAD_DIGEST, {
    digest_name: name,
    calculated_digest: encodeDigest(computed),
    expected_digest: encodeDigest(expected),
  });

const readContentMd5 = (text: string): Uint8Array => {
  const digest = decodeDigest(text, digestBytes.MD5);
  if (digest === undefined) throw fault(ErrorReason.INVALID_DIGEST, { content_md5: text });
  return digest;
};
