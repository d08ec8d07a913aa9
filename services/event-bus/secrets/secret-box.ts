import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/** Encrypts what must not lie in the store in clear. Each secret is bound to the resource that owns it. */
export interface SecretBox {
  seal(owner: string, secret: Uint8Array): Uint8Array;
  /** Throws when the bytes were not sealed for this owner under this key. */
  open(owner: string, sealed: Uint8Array): Uint8Array;
}

const version = 1;
const nonceBytes = 12;
const tagBytes = 16;

/** A box over one key of 32 bytes. Sealed bytes are: version (1), nonce (12), AES-256-GCM ciphertext, tag (16). */
export const createSecretBox = (key: Uint8Array): SecretBox => ({
  seal(owner, secret) {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv("aes-256-gcm", key, nonce);
    cipher.setAAD(Buffer.from(owner));
    const body = Buffer.concat([cipher.update(secret), cipher.final()]);
    return new Uint8Array(Buffer.concat([Buffer.of(version), nonce, body, cipher.getAuthTag()]));
  },

  open(owner, sealed) {
    if (sealed[0] !== version || sealed.byteLength < 1 + nonceBytes + tagBytes)
      throw new Error(`the secret of ${owner} is damaged`);
    const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(1, 1 + nonceBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(Buffer.from(owner));
    decipher.setAuthTag(sealed.subarray(-tagBytes));
    const body = decipher.update(sealed.subarray(1 + nonceBytes, -tagBytes));
    return new Uint8Array(Buffer.concat([body, decipher.final()]));
  },
});
