import { bytesOf, byteStringOf } from "./byte-string.ts";
import type { ByteString } from "./byte-string.ts";
import { StoreKeyError } from "./errors.ts";

/**
 * How key parts become bytes whose order is the order of the parts.
 *
 * | part     | bytes                                                            | order                  |
 * |----------|------------------------------------------------------------------|------------------------|
 * | text     | UTF-8, 00 as 01 01 and 01 as 01 02, ended by 00                  | by code point          |
 * | bytes    | as text, without the UTF-8                                       | bytewise, short first  |
 * | integer  | 8 bytes, big-endian                                              | ascending              |
 * | reversed | 8 bytes, big-endian, each bit turned                             | descending             |
 *
 * The end byte 00 is below every other byte that can be there, so a text sorts before its extensions whatever
 * part follows it. Integers are JavaScript numbers from 0 to 2^53-1; a text must be well-formed Unicode, because two
 * lone surrogates would both become U+FFFD and so the same key.
 */
export interface KeyPart<out T = unknown> {
  readonly name: string;
  readonly kind: "text" | "bytes" | "integer" | "reversed";
  /** Never set: carries the part's type. */
  readonly type?: T;
}

export const text = (name: string): KeyPart<string> => ({ name, kind: "text" });
export const bytes = (name: string): KeyPart<Uint8Array> => ({ name, kind: "bytes" });
/** A whole number from 0 to 2^53-1, ascending. */
export const integer = (name: string): KeyPart<number> => ({ name, kind: "integer" });
/** A whole number from 0 to 2^53-1, the greatest first. */
export const reversed = (name: string): KeyPart<number> => ({ name, kind: "reversed" });

const integerBytes = 8;
// oxlint-disable-next-line no-control-regex -- control characters are the bytes with a meaning of their own
const plainText = /^[\u0002-\u007f]*$/;
// oxlint-disable-next-line no-control-regex -- control characters are the bytes with a meaning of their own
const escapedBytes = /[\u0000\u0001]/g;
// oxlint-disable-next-line no-control-regex -- control characters are the bytes with a meaning of their own
const anyEscapedByte = /[\u0000\u0001]/;
// oxlint-disable-next-line no-control-regex -- control characters are the bytes with a meaning of their own
const escapeSequences = /\u0001([\u0001\u0002])/g;

/** The bytes of one whole part. Throws StoreKeyError when the value cannot be one. */
export const encodePart = (part: KeyPart, value: unknown): ByteString => {
  if (part.kind === "text") return `${encodeTextPrefix(part, value)}\u0000`;
  if (part.kind !== "bytes") return encodeInteger(part, value, maskOf(part));
  if (!(value instanceof Uint8Array)) throw new StoreKeyError(`key part ${part.name} must be bytes`);
  return `${escape(byteStringOf(value))}\u0000`;
};

/** The bytes that every text beginning with `value` begins with. */
export const encodeTextPrefix = (part: KeyPart, value: unknown): ByteString => {
  if (part.kind !== "text" || typeof value !== "string") throw new StoreKeyError(`key part ${part.name} must be text`);
  if (plainText.test(value)) return value;
  if (!value.isWellFormed()) throw new StoreKeyError(`key part ${part.name} is not well-formed Unicode`);
  return escape(Buffer.from(value, "utf8").toString("latin1"));
};

/** Reads one part that begins at `offset`; returns the value and where the next part begins. */
export const decodePart = (part: KeyPart, key: ByteString, offset: number): { value: unknown; next: number } => {
  if (part.kind !== "text" && part.kind !== "bytes")
    return { value: decodeInteger(part, key, offset, maskOf(part)), next: offset + integerBytes };
  const end = endOf(part, key, offset);
  const raw = key.slice(offset, end);
  if (part.kind === "bytes") return { value: new Uint8Array(bytesOf(unescape(raw))), next: end + 1 };
  return { value: plainText.test(raw) ? raw : bytesOf(unescape(raw)).toString("utf8"), next: end + 1 };
};

/** What each byte of a number is turned with. */
const maskOf = (part: KeyPart): number => (part.kind === "reversed" ? 0xff : 0);

// Looking for such bytes first costs a third of replacing none.
const escape = (raw: ByteString): ByteString =>
  anyEscapedByte.test(raw)
    ? raw.replace(escapedBytes, (found) => (found === "\u0000" ? "\u0001\u0001" : "\u0001\u0002"))
    : raw;

const unescape = (raw: ByteString): ByteString =>
  raw.replace(escapeSequences, (_whole, code: string) => (code === "\u0001" ? "\u0000" : "\u0001"));

const endOf = (part: KeyPart, key: ByteString, offset: number): number => {
  const end = key.indexOf("\u0000", offset);
  if (end === -1) throw new StoreKeyError(`key part ${part.name} has no end`);
  return end;
};

const encodeInteger = (part: KeyPart, value: unknown, mask: number): ByteString => {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
    throw new StoreKeyError(`key part ${part.name} must be a whole number from 0 to 2^53-1`);
  const high = Math.floor(value / 0x1_0000_0000);
  return String.fromCharCode(
    (high >>> 24) ^ mask,
    ((high >>> 16) & 0xff) ^ mask,
    ((high >>> 8) & 0xff) ^ mask,
    (high & 0xff) ^ mask,
    ((value >>> 24) & 0xff) ^ mask,
    ((value >>> 16) & 0xff) ^ mask,
    ((value >>> 8) & 0xff) ^ mask,
    (value & 0xff) ^ mask,
  );
};

const decodeInteger = (part: KeyPart, key: ByteString, offset: number, mask: number): number => {
  if (key.length < offset + integerBytes) throw new StoreKeyError(`key part ${part.name} is cut off`);
  let value = 0;
  for (let index = offset; index < offset + integerBytes; index += 1)
    value = value * 0x100 + (key.charCodeAt(index) ^ mask);
  return value;
};
