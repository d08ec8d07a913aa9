import type { KeyObject } from "node:crypto";
import { createHmac, hash } from "node:crypto";

/** HMAC-SHA-256 under one key: 32 bytes, equal for equal contents. */
export type KeyedDigest = (content: string | Uint8Array) => Buffer;

const blockBytes = 64;
const digestBytes = 32;
/** Longer contents go through the platform's HMAC. */
const contentBytesMax = 2_048;

/**
 * HMAC-SHA-256 of short contents, as RFC 2104 defines it: H((K xor opad) H((K xor ipad) content)). The platform makes
 * an object for each HMAC, which costs five times what the two digests cost.
 */
export const createKeyedDigest = (key: KeyObject): KeyedDigest => {
  const inner = Buffer.alloc(blockBytes + contentBytesMax);
  const outer = Buffer.alloc(blockBytes + digestBytes);
  const bytes = key.export();
  if (bytes.length > blockBytes) throw new RangeError(`a key of a digest has at most ${blockBytes} bytes`);
  for (let index = 0; index < blockBytes; index += 1) {
    inner[index] = (bytes[index] ?? 0) ^ 0x36;
    outer[index] = (bytes[index] ?? 0) ^ 0x5c;
  }
  bytes.fill(0);
  return (content) => {
    // A character has at most three bytes of UTF-8.
    if (content.length * 3 > contentBytesMax) return createHmac("sha256", key).update(content).digest();
    let length = content.length;
    if (typeof content === "string") length = inner.write(content, blockBytes, "utf8");
    else inner.set(content, blockBytes);
    outer.write(hash("sha256", inner.subarray(0, blockBytes + length), "binary"), blockBytes, "latin1");
    return Buffer.from(hash("sha256", outer, "binary"), "latin1");
  };
};
