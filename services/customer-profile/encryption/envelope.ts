import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import { fault } from "../faults.ts";

/** Encrypted bytes. */
export interface SealedBytes {
  /** 12 bytes. */
  readonly nonce: Uint8Array;
  /** The encrypted bytes and the 16 bytes of the tag. */
  readonly ciphertext: Uint8Array;
}

const cipherName = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;
export const keyBytes = 32;

/** A new key for `seal`. */
export const newKey = (): Uint8Array => randomBytes(keyBytes);

/**
 * Encrypts under a key of 32 bytes. The place says what the bytes belong to (its parts joined without ambiguity); they
 * open only with the same key and the same place.
 */
export const seal = (key: Uint8Array, place: readonly (string | Uint8Array)[], plain: Uint8Array): SealedBytes => {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(cipherName, key, nonce);
  cipher.setAAD(placeBytes(place));
  return { nonce, ciphertext: Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]) };
};

/** Decrypts what `seal` made. Throws the refusal DATA_LOSS when key, place or bytes are not the ones that were sealed. */
export const open = (
  key: Uint8Array,
  place: readonly (string | Uint8Array)[],
  sealed: SealedBytes | undefined,
): Uint8Array => {
  try {
    if (sealed === undefined) throw new Error("nothing is sealed here");
    const decipher = createDecipheriv(cipherName, key, sealed.nonce, { authTagLength: tagBytes });
    const split = sealed.ciphertext.byteLength - tagBytes;
    decipher.setAAD(placeBytes(place));
    decipher.setAuthTag(sealed.ciphertext.subarray(split));
    return Buffer.concat([decipher.update(sealed.ciphertext.subarray(0, split)), decipher.final()]);
  } catch (cause) {
    throw fault(ErrorReason.DATA_LOSS, {}, { cause });
  }
};

// Each part is preceded by its length, so that no two places have the same bytes.
const placeBytes = (place: readonly (string | Uint8Array)[]): Uint8Array =>
  Buffer.concat(
    place.flatMap((part) => {
      const bytes = typeof part === "string" ? Buffer.from(part, "utf8") : part;
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.byteLength);
      return [length, bytes];
    }),
  );
