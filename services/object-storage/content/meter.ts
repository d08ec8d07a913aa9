import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { ChecksumAlgorithm, ChecksumMembers } from "../domain/checksum-algorithm.ts";
import type { ChecksumPlan } from "../domain/expected-checksums.ts";
import { checkDigest, findChecksum } from "../domain/expected-checksums.ts";
import { fault, invalidRequest } from "../faults.ts";
import type { Digest } from "./digest.ts";
import { openDigest } from "./digest.ts";

/** What arriving content must satisfy. */
export interface ContentExpectation {
  readonly checksums: ChecksumPlan;
  /** Computed too, whatever the caller says. */
  readonly alsoCompute?: ChecksumAlgorithm;
  /** Undefined: as many bytes as arrive. */
  readonly sizeBytes: number | undefined;
  /** More is refused while it arrives. */
  readonly sizeBytesMax: number;
}

/** What is known of content that has arrived whole. */
export interface ContentFacts {
  readonly sizeBytes: number;
  readonly md5: Uint8Array;
  readonly checksum: { readonly algorithm: ChecksumAlgorithm; readonly value: Uint8Array };
  /** Every checksum that was computed. */
  readonly computed: ReadonlyMap<ChecksumAlgorithm, Uint8Array>;
  /** The caller asked for the checksum's algorithm or gave its value. */
  readonly isChecksumRequested: boolean;
}

/** Digests and counts content as it arrives. */
export interface Meter {
  /** Throws ENTITY_TOO_LARGE, or INCOMPLETE_BODY as soon as more bytes came than were said. */
  take(piece: Uint8Array): void;
  /** Throws INCOMPLETE_BODY, BAD_DIGEST or INVALID_REQUEST. `trailer` holds checksums that came after the content. */
  finish(trailer: ChecksumMembers): ContentFacts;
}

/** Begins to meter content. Without a named algorithm CRC32 runs beside the default, for it is what trailers bring. */
export const openMeter = async (expectation: ContentExpectation): Promise<Meter> => {
  const { checksums: plan, sizeBytesMax } = expectation;
  const md5 = await openDigest("MD5");
  const algorithms = new Set<ChecksumAlgorithm>([plan.algorithm]);
  if (!plan.isRequested) algorithms.add("CRC32");
  if (expectation.alsoCompute !== undefined) algorithms.add(expectation.alsoCompute);
  const digests = new Map<ChecksumAlgorithm, Digest>();
  for (const algorithm of algorithms) digests.set(algorithm, await openDigest(algorithm));
  let sizeBytes = 0;

  return {
    take(piece) {
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
      const trailed = findChecksum(trailer);
      if (trailed !== undefined && plan.expected !== undefined)
        throw invalidRequest("Expecting a single x-svc-checksum- header. Multiple checksum Types are not allowed.");
      const algorithm = trailed?.algorithm ?? plan.algorithm;
      const value = computed.get(algorithm);
      if (value === undefined)
        throw invalidRequest("The checksum in the trailer is not the one that the headers name.");
      checkDigest(algorithm, trailed?.value ?? plan.expected, value);
      return {
        sizeBytes,
        md5: md5Value,
        checksum: { algorithm, value },
        computed,
        isChecksumRequested: plan.isRequested || trailed !== undefined,
      };
    },
  };
};

/** Throws ENTITY_TOO_LARGE for content that says before it comes that it is too large. */
export const checkAnnouncedSize = (sizeBytes: number | undefined, sizeBytesMax: number): void => {
  if (sizeBytes !== undefined && sizeBytes > sizeBytesMax) throw tooLarge(sizeBytes, sizeBytesMax);
};

const tooLarge = (sizeBytes: number, sizeBytesMax: number) =>
  fault(ErrorReason.ENTITY_TOO_LARGE, { proposed_size: String(sizeBytes), max_size_allowed: String(sizeBytesMax) });

const incomplete = (sizeBytes: number) =>
  fault(ErrorReason.INCOMPLETE_BODY, { number_bytes_expected: String(sizeBytes) });
