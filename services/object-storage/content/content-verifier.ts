import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { ChecksumAlgorithm, ChecksumMembers } from "../domain/checksum-algorithm.ts";
import type { ChecksumPlan } from "../domain/expected-checksums.ts";
import { checkDigest, findChecksum } from "../domain/expected-checksums.ts";
import { fault, invalidRequest } from "../faults.ts";
import type { Digest } from "../../kit/digests/digest.ts";
import { openDigest } from "../../kit/digests/digest.ts";
import { openLargeMd5 } from "../../kit/digests/md5-lanes.ts";

/** The properties that arriving content must have. */
export interface ContentExpectation {
  readonly checksums: ChecksumPlan;
  /** Computed in addition. Unset: nothing. */
  readonly alsoCompute?: ChecksumAlgorithm;
  /** Undefined: as many bytes as arrive. */
  readonly sizeBytes: number | undefined;
  /** More is refused while it arrives. */
  readonly sizeBytesMax: number;
}

/** The size and digests of content that has arrived whole. */
export interface ContentFacts {
  readonly sizeBytes: number;
  readonly md5: Uint8Array;
  readonly checksum: { readonly algorithm: ChecksumAlgorithm; readonly value: Uint8Array };
  /** Every checksum that was computed. */
  readonly computed: ReadonlyMap<ChecksumAlgorithm, Uint8Array>;
  /** The caller named the checksum's algorithm or gave its value. */
  readonly isChecksumRequested: boolean;
}

/** Counts and digests content as it arrives, and checks it against an expectation. */
export interface ContentVerifier {
  /** Throws ENTITY_TOO_LARGE, or INCOMPLETE_BODY as soon as there are more bytes than declared. */
  add(piece: Uint8Array): void;
  /** Throws INCOMPLETE_BODY, BAD_DIGEST or INVALID_REQUEST. `trailer` holds checksums that came after the content. */
  finish(trailer: ChecksumMembers): ContentFacts;
  /** Must be called in the end, also of content that did not arrive whole. */
  close(): void;
}

/** Contents of at least this size are digested together with others that arrive at the same time. */
const largeBytesMin = 1024 * 1024;

/**
 * Opens a verifier. Without a named algorithm CRC32 is computed in addition to the default if there may be a trailer,
 * because those without a name carry it.
 */
export const openContentVerifier = async (
  expectation: ContentExpectation,
  mayHaveTrailer: boolean,
): Promise<ContentVerifier> => {
  const { checksums: plan, sizeBytesMax } = expectation;
  const large = (expectation.sizeBytes ?? 0) >= largeBytesMin ? openLargeMd5() : undefined;
  const md5 = large ?? (await openDigest("MD5"));
  const algorithms = new Set<ChecksumAlgorithm>([plan.algorithm]);
  if (!plan.isRequested && mayHaveTrailer) algorithms.add("CRC32");
  if (expectation.alsoCompute !== undefined) algorithms.add(expectation.alsoCompute);
  const digests = new Map<ChecksumAlgorithm, Digest>();
  for (const algorithm of algorithms) digests.set(algorithm, await openDigest(algorithm));
  let sizeBytes = 0;

  return {
    add(piece) {
      sizeBytes += piece.length;
      if (sizeBytes > sizeBytesMax) throw tooLarge(sizeBytes, sizeBytesMax);
      if (expectation.sizeBytes !== undefined && sizeBytes > expectation.sizeBytes)
        throw incomplete(expectation.sizeBytes);
      md5.update(piece);
      for (const digest of digests.values()) digest.update(piece);
    },
    finish(trailer) {
      const computed = new Map([...digests].map(([algorithm, digest]) => [algorithm, digest.finish()]));
      const md5Value = md5.finish();
      if (expectation.sizeBytes !== undefined && sizeBytes < expectation.sizeBytes)
        throw incomplete(expectation.sizeBytes);
      checkDigest("Content-MD5", plan.contentMd5, md5Value);
      const trailing = findChecksum(trailer);
      if (trailing !== undefined && plan.expected !== undefined)
        throw invalidRequest("Expecting a single x-svc-checksum- header. Multiple checksum Types are not allowed.");
      const algorithm = trailing?.algorithm ?? plan.algorithm;
      const value = computed.get(algorithm);
      if (value === undefined)
        throw invalidRequest("The checksum in the trailer is not the one that the headers name.");
      checkDigest(algorithm, trailing?.value ?? plan.expected, value);
      return {
        sizeBytes,
        md5: md5Value,
        checksum: { algorithm, value },
        computed,
        isChecksumRequested: plan.isRequested || trailing !== undefined,
      };
    },
    close: () => large?.close(),
  };
};

/** Throws ENTITY_TOO_LARGE for content whose declared size is too large. */
export const checkDeclaredSize = (sizeBytes: number | undefined, sizeBytesMax: number): void => {
  if (sizeBytes !== undefined && sizeBytes > sizeBytesMax) throw tooLarge(sizeBytes, sizeBytesMax);
};

const tooLarge = (sizeBytes: number, sizeBytesMax: number) =>
  fault(ErrorReason.ENTITY_TOO_LARGE, { proposed_size: String(sizeBytes), max_size_allowed: String(sizeBytesMax) });

const incomplete = (sizeBytes: number) =>
  fault(ErrorReason.INCOMPLETE_BODY, { number_bytes_expected: String(sizeBytes) });
