import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/** The bytes of a nonce; a new random one is made for each seal. */
const nonceBytes = 12;
const tagBytes = 16;

/** What a seal adds to its content. */
export const sealOverheadBytes = nonceBytes + tagBytes;

/** Sealed bytes that do not open: another key, another context, or changed. Which of them cannot be told. */
export class SealBrokenError extends Error {
  override readonly name = "SealBrokenError";

  constructor() {
    super("The sealed bytes cannot be opened with this key in this context.");
  }
}

/**
 * Encrypts with AES-256-GCM: nonce, ciphertext, tag. The context is not kept; it must be the same, part by part, when
 * the seal is opened, so that sealed bytes cannot be moved from one place to another.
 */
export const seal = (key: Uint8Array, context: readonly string[], content: Uint8Array): Buffer => {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(contextBytes(context));
  return Buffer.concat([nonce, cipher.update(content), cipher.final(), cipher.getAuthTag()]);
};

/** The content of sealed bytes. Throws SealBrokenError. */
export const unseal = (key: Uint8Array, context: readonly string[], sealed: Uint8Array): Buffer => {
  if (sealed.length < sealOverheadBytes) throw new SealBrokenError();
  const nonce = sealed.subarray(0, nonceBytes);
  const tag = sealed.subarray(sealed.length - tagBytes);
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: tagBytes }).setAAD(
    contextBytes(context),
  );
  decipher.setAuthTag(tag);
  try {
    return Buffer.concat([decipher.update(sealed.subarray(nonceBytes, sealed.length - tagBytes)), decipher.final()]);
  } catch {
    throw new SealBrokenError();
  }
};

/** JSON keeps the parts apart, so that ["ab", "c"] and ["a", "bc"] differ. */
const contextBytes = (context: readonly string[]): Buffer => Buffer.from(JSON.stringify(context));
