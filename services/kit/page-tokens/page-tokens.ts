import type { KeyObject } from "node:crypto";
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, randomBytes } from "node:crypto";

import type { Clock } from "../clock/clock.ts";

export { pageTokenKey, pageTokenKeyTable } from "./page-token-key.ts";

/** What a token is good for: one caller who goes on with one listing. */
export interface PageBinding {
  /** The account that asks. */
  readonly caller: string;
  readonly operation: string;
  /** Every member of the request that decides what is listed, in a fixed order; the page size is not one of them. */
  readonly filters: readonly string[];
}

/** Tokens that say where a listing goes on. Callers can neither read nor make nor change them, nor use another's. */
export interface PageTokens {
  /** A token of standard base64: 64 characters and four thirds of the position. */
  seal(binding: PageBinding, position: string | Uint8Array): string;
  /** The position (text as UTF-8), or undefined when this token was not made for this binding or is too old. */
  open(binding: PageBinding, token: string): Uint8Array | undefined;
}

export interface PageTokensOptions {
  /** 32 bytes. Tokens of one key are worthless under another. */
  readonly key: Uint8Array;
  readonly clock: Clock;
  /** How long a token is good for, in milliseconds. */
  readonly lifetimeMs: number;
}

/*
 * A token is: version (1 byte), nonce (24), sealed end of life (6, milliseconds since 1970) and position, tag (16).
 * The first half of the nonce makes a key of its own for AES-256-GCM out of the service's key, the second half is
 * that cipher's nonce. Random nonces of 24 bytes never meet, however many tokens are made; 12 bytes could.
 */
const version = 1;
const saltBytes = 12;
const nonceBytes = 12;
const tagBytes = 16;
const endBytes = 6;
const headerBytes = 1 + saltBytes + nonceBytes;
/** Longer than every token that was sealed, so that a caller cannot make work with a huge one. */
const tokenLengthMax = 16_384;

/** Makes the tokens of one key. Throws when the key is not 32 bytes. */
export const createPageTokens = ({ key, clock, lifetimeMs }: PageTokensOptions): PageTokens => {
  if (key.byteLength !== 32) throw new RangeError(`a page token key is 32 bytes, not ${key.byteLength}`);
  const ownKey = createSecretKey(key);
  const keyOf = (salt: Uint8Array): KeyObject => createSecretKey(createHmac("sha256", ownKey).update(salt).digest());

  return {
    seal(binding, position) {
      const header = Buffer.concat([Buffer.of(version), randomBytes(saltBytes + nonceBytes)]);
      const cipher = createCipheriv(
        "aes-256-gcm",
        keyOf(header.subarray(1, 1 + saltBytes)),
        header.subarray(1 + saltBytes),
      );
      cipher.setAAD(bindingBytes(binding));
      const end = Buffer.alloc(endBytes);
      end.writeUIntBE(Math.max(0, Math.floor(clock.now() + lifetimeMs)), 0, endBytes);
      const body = typeof position === "string" ? Buffer.from(position, "utf8") : position;
      const sealed = [cipher.update(end), cipher.update(body), cipher.final()];
      return Buffer.concat([header, ...sealed, cipher.getAuthTag()]).toString("base64");
    },

    open(binding, token) {
      if (token.length > tokenLengthMax) return undefined;
      const bytes = Buffer.from(token, "base64");
      if (bytes.byteLength < headerBytes + endBytes + tagBytes || bytes[0] !== version) return undefined;
      // Only one spelling of a token is a token: decoding alone would pass over stray characters and bits.
      if (bytes.toString("base64") !== token) return undefined;
      const salt = bytes.subarray(1, 1 + saltBytes);
      const decipher = createDecipheriv("aes-256-gcm", keyOf(salt), bytes.subarray(1 + saltBytes, headerBytes), {
        authTagLength: tagBytes,
      });
      decipher.setAAD(bindingBytes(binding));
      decipher.setAuthTag(bytes.subarray(-tagBytes));
      let opened: Buffer;
      try {
        opened = Buffer.concat([decipher.update(bytes.subarray(headerBytes, -tagBytes)), decipher.final()]);
      } catch {
        return undefined;
      }
      if (clock.now() >= opened.readUIntBE(0, endBytes)) return undefined;
      return new Uint8Array(opened.subarray(endBytes));
    },
  };
};

/** The binding as bytes that no other binding has: each text with its length before it. */
const bindingBytes = (binding: PageBinding): Buffer =>
  Buffer.concat(
    [binding.caller, binding.operation, ...binding.filters].flatMap((each) => {
      const text = Buffer.from(each, "utf8");
      const length = Buffer.alloc(4);
      length.writeUInt32BE(text.byteLength);
      return [length, text];
    }),
  );
