/** The checksum algorithms of the API. */
export const checksumAlgorithms = [
  "CRC32",
  "CRC32C",
  "CRC64NVME",
  "SHA1",
  "SHA256",
  "SHA512",
  "MD5",
  "XXHASH64",
  "XXHASH3",
  "XXHASH128",
] as const;

export type ChecksumAlgorithm = (typeof checksumAlgorithms)[number];

/** What the checksum of a multipart object covers: the checksums of its parts, or all bytes. */
export type ChecksumType = "COMPOSITE" | "FULL_OBJECT";

/** The algorithm if the caller names none. */
export const defaultChecksumAlgorithm: ChecksumAlgorithm = "CRC64NVME";

/** Bytes of a digest. */
export const digestBytes: Readonly<Record<ChecksumAlgorithm, number>> = {
  CRC32: 4,
  CRC32C: 4,
  CRC64NVME: 8,
  SHA1: 20,
  SHA256: 32,
  SHA512: 64,
  MD5: 16,
  XXHASH64: 8,
  XXHASH3: 8,
  XXHASH128: 16,
};

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
