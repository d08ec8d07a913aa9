import type { KeyObject } from "node:crypto";
import { createCipheriv, createDecipheriv, createSecretKey } from "node:crypto";

import { drawRandomBytes } from "../ids/random-bytes.ts";

/** The bytes of a nonce, which is random for each seal. */
const nonceBytes = 12;
const tagBytes = 16;

/** The bytes that a seal adds to its content. */
const sealOverheadBytes = nonceBytes + tagBytes;

/** The owner and purpose of sealed bytes, part by part. A text is its UTF-8 bytes. */
export type SealContext = readonly (string | Uint8Array)[];

/** Sealed bytes do not open: another key, another context, or changed bytes; which of them is unknown. */
export class SealBrokenError extends Error {
  override readonly name = "SealBrokenError";

  constructor() {
    super("The sealed bytes cannot be opened with this key in this context.");
  }
}

/**
 * Encrypts with AES-256-GCM: nonce, ciphertext, tag. The context is not stored; it must be the same, part by part, when
 * the seal is opened, so that sealed bytes cannot be moved to another record. Keys are KeyObjects: with the bytes of a
 * key, each call would make one again, which costs four times as much as the rest.
 */
export const seal = (key: KeyObject, context: SealContext, content: Uint8Array): Buffer => {
  const nonce = drawRandomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(contextBytes(context));
  const sealed = Buffer.allocUnsafe(content.length + sealOverheadBytes);
  sealed.set(nonce);
  sealed.set(cipher.update(content), nonceBytes);
  // The mode has no blocks to fill, so only the tag follows.
  cipher.final();
  sealed.set(cipher.getAuthTag(), nonceBytes + content.length);
  return sealed;
};

/** The content of sealed bytes. Throws SealBrokenError. */
export const unseal = (key: KeyObject, context: SealContext, sealed: Uint8Array): Buffer => {
  if (sealed.length < sealOverheadBytes) throw new SealBrokenError();
  const nonce = sealed.subarray(0, nonceBytes);
  const tag = sealed.subarray(sealed.length - tagBytes);
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: tagBytes }).setAAD(
    contextBytes(context),
  );
  decipher.setAuthTag(tag);
  try {
    const content = decipher.update(sealed.subarray(nonceBytes, sealed.length - tagBytes));
    // The mode has no blocks to fill, so nothing of the content is left for the end, which only compares the tag.
    decipher.final();
    return content;
  } catch {
    throw new SealBrokenError();
  }
};

/** Encrypts a key as `seal` does. */
export const sealKey = (key: KeyObject, context: SealContext, content: KeyObject): Buffer =>
  withBytes(content.export(), (bytes) => seal(key, context, bytes));

/** The key of sealed bytes. Throws SealBrokenError. */
export const unsealKey = (key: KeyObject, context: SealContext, sealed: Uint8Array): KeyObject =>
  secretKey(unseal(key, context, sealed));

/** The key with these bytes, which are overwritten. */
export const secretKey = (bytes: Uint8Array): KeyObject => withBytes(bytes, createSecretKey);

const withBytes = <T>(bytes: Uint8Array, use: (bytes: Uint8Array) => T): T => {
  try {
    return use(bytes);
  } finally {
    bytes.fill(0);
  }
};

/** Each part is preceded by its length in 4 bytes, so that ["ab", "c"] and ["a", "bc"] differ. */
const contextBytes = (context: SealContext): Buffer => {
  let length = 0;
  for (const part of context) length += 4 + (typeof part === "string" ? Buffer.byteLength(part) : part.byteLength);
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  for (const part of context) {
    const partAt = at + 4;
    if (typeof part === "string") at = partAt + bytes.write(part, partAt, "utf8");
    else {
      bytes.set(part, partAt);
      at = partAt + part.byteLength;
    }
    bytes.writeUInt32BE(at - partAt, partAt - 4);
  }
  return bytes;
};
