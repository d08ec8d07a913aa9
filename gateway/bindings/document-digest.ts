import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";

import { ErrorReason, refusal } from "../refusal.ts";
import type { BoundHeaders } from "./request-headers.ts";

interface Digest {
  /** Documented spelling. */
  readonly header: string;
  readonly name: string;
  readonly bytes: number;
  compute(body: Buffer): Buffer;
}

const hashed = (header: string, name: string, algorithm: string, bytes: number): Digest => ({
  header,
  name,
  bytes,
  compute: (body) => createHash(algorithm).update(body).digest(),
});

const digests: readonly Digest[] = [
  hashed("content-md5", "Content-MD5", "md5", 16),
  hashed("x-svc-checksum-sha1", "SHA1", "sha1", 20),
  hashed("x-svc-checksum-sha256", "SHA256", "sha256", 32),
  {
    header: "x-svc-checksum-crc32",
    name: "CRC32",
    bytes: 4,
    compute: (body) => {
      const value = Buffer.alloc(4);
      value.writeUInt32BE(crc32(body));
      return value;
    },
  },
];

/**
 * Compares a document with the digests that the client sent with it. The service receives only the message, so its
 * bytes are known only here. Throws INVALID_CONTENT_MD5, INVALID_CHECKSUM and BAD_DIGEST.
 */
export const checkDocumentDigests = (headers: BoundHeaders, body: Buffer): void => {
  for (const digest of digests) {
    const given = headers.get(digest.header);
    if (given === undefined) continue;
    const isMd5 = digest.header === "content-md5";
    const decoded = Buffer.from(given, "base64");
    if (decoded.length !== digest.bytes)
      throw isMd5
        ? refusal(ErrorReason.INVALID_CONTENT_MD5)
        : refusal(ErrorReason.INVALID_CHECKSUM, { algorithm: digest.name });
    if (!digest.compute(body).equals(decoded)) throw refusal(ErrorReason.BAD_DIGEST, { algorithm: digest.name });
  }
};
