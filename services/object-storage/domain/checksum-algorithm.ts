import type { DigestAlgorithm } from "../../kit/digests/digest.ts";
import { digestAlgorithms } from "../../kit/digests/digest.ts";

/** The checksum algorithms of the API. */
export const checksumAlgorithms = digestAlgorithms;

export type ChecksumAlgorithm = DigestAlgorithm;

/** What the checksum of a multipart object covers: the checksums of its parts, or all bytes. */
export type ChecksumType = "COMPOSITE" | "FULL_OBJECT";

/** The algorithm if the caller names none. */
export const defaultChecksumAlgorithm: ChecksumAlgorithm = "CRC64NVME";

/** The algorithm of this name, in any letter case; undefined if it is unknown. */
export const findChecksumAlgorithm = (name: string): ChecksumAlgorithm | undefined =>
  checksumAlgorithms.find((algorithm) => algorithm === name.toUpperCase());

/** The member of requests and responses that holds the checksum of each algorithm. */
export const checksumMembers = {
  CRC32: "checksumCrc32",
  CRC32C: "checksumCrc32c",
  CRC64NVME: "checksumCrc64nvme",
  SHA1: "checksumSha1",
  SHA256: "checksumSha256",
  SHA512: "checksumSha512",
  MD5: "checksumMd5",
  XXHASH64: "checksumXxhash64",
  XXHASH3: "checksumXxhash3",
  XXHASH128: "checksumXxhash128",
} as const satisfies Readonly<Record<ChecksumAlgorithm, string>>;

/** The members that hold checksums. */
export type ChecksumMembers = { readonly [Member in (typeof checksumMembers)[ChecksumAlgorithm]]?: string };

/** The bytes of a digest in base64; undefined if it is not base64 of that many bytes. */
export const decodeDigest = (text: string, size: number): Uint8Array | undefined => {
  const bytes = Buffer.from(text, "base64");
  return bytes.length === size && bytes.toString("base64") === text ? bytes : undefined;
};

/** A digest in base64, as the API writes it. */
export const encodeDigest = (digest: Uint8Array): string => Buffer.from(digest).toString("base64");
