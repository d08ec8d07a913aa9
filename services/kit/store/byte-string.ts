/**
 * Bytes as a string of characters U+0000 to U+00FF, one per byte. Such strings compare, hash and concatenate exactly
 * as their bytes would, which makes them the cheapest ordered map key that JavaScript has.
 */
export type ByteString = string;

/** A half-open range of keys: `low` is in it, `high` is not. Empty when `low >= high`. */
export interface Bounds {
  readonly low: ByteString;
  readonly high: ByteString;
  /** All keys between them are UTF-8, which is the cheapest to read. Unset: they may be any bytes. */
  readonly hasTextKeys?: boolean;
}

export const bytesOf = (text: ByteString): Buffer => Buffer.from(text, "latin1");

export const byteStringOf = (bytes: Uint8Array): ByteString =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");

// oxlint-disable-next-line no-control-regex -- control characters are ASCII
const ascii = /^[\u0000-\u007f]*$/;

/** The byte string of a text's UTF-8. */
export const byteStringOfText = (text: string): ByteString =>
  ascii.test(text) ? text : Buffer.from(text, "utf8").toString("latin1");

/** The least byte string that is greater than every one beginning with this prefix. The prefix may not be all 0xff. */
export const prefixSuccessor = (prefix: ByteString): ByteString => {
  let end = prefix.length;
  while (end > 0 && prefix.charCodeAt(end - 1) === 0xff) end -= 1;
  if (end === 0) throw new RangeError("no byte string follows this prefix");
  return prefix.slice(0, end - 1) + String.fromCharCode(prefix.charCodeAt(end - 1) + 1);
};

/** The least byte string that is greater than this one. */
export const successor = (key: ByteString): ByteString => `${key}\u0000`;

/** The order of byte strings, for sorting. */
export const compareBytes = (left: ByteString, right: ByteString): number => (left < right ? -1 : left > right ? 1 : 0);
