import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";

/** What the members of a type are on the wire, by their numbers. */
interface MemberKind {
  readonly wireType: number;
  readonly isText: boolean;
}

/**
 * Where the members of a message are in its bytes, for callers that need few of them, or need them only to write them
 * into other bytes. It finds what the library writes of values that are nothing special: the members in the order of
 * their numbers, each once and of the declared type, texts in ASCII. All else is left to the library, which knows what
 * unknown members, repeated ones, other texts and damaged bytes mean.
 */
export class PlainMembers {
  readonly #kinds: readonly (MemberKind | undefined)[];
  readonly #passesOver: boolean;
  readonly #starts: number[];
  readonly #ends: number[];
  #bytes: Uint8Array = noBytes;

  /**
   * Plain are whole numbers of 64 bits and positive ones of 32, texts, lists of one text, bytes and messages. If the
   * wanted members are named, it passes over all others, of which it sees only where they end.
   */
  constructor(desc: DescMessage, wanted?: readonly DescField[]) {
    const kinds: (MemberKind | undefined)[] = [];
    for (const field of wanted ?? desc.fields) kinds[field.number] = kindOf(field);
    this.#kinds = kinds;
    this.#passesOver = wanted !== undefined;
    this.#starts = Array.from(kinds, () => absent);
    this.#ends = [...this.#starts];
  }

  /**
   * Looks for the members of a message, which may be a part of the bytes. False: it is not plain, and the other methods
   * must not be called.
   */
  find(bytes: Uint8Array, start = 0, length = bytes.length): boolean {
    this.#bytes = bytes;
    this.#starts.fill(absent);
    this.#ends.fill(absent);
    let at = start;
    for (let last = 0; at < length;) {
      let tag = bytes[at++]!;
      // A second byte of a tag; greater numbers are not plain.
      if (tag > oneByteMax) tag += ((bytes[at++] ?? 0) - 1) * (oneByteMax + 1);
      const number = tag >>> 3;
      const wireType = tag & 0b111;
      const kind = this.#kinds[number];
      if (kind === undefined ? !this.#passesOver || number < Math.max(last, 1) : number <= last) return false;
      if (tag >= twoBytesMax || (kind !== undefined && kind.wireType !== wireType)) return false;
      let begin = at;
      if (wireType === varint) {
        while (at < length && bytes[at]! > oneByteMax) at += 1;
        at += 1;
        if (at - begin > varintBytesMax) return false;
      } else if (wireType === lengthDelimited) {
        let size = bytes[at++] ?? absent;
        // A second byte of a length; longer members are not plain.
        if (size > oneByteMax) size += ((bytes[at++] ?? 0) - 1) * (oneByteMax + 1);
        if (size < 0 || size >= twoBytesMax || at + size > length) return false;
        begin = at;
        at += size;
      } else return false;
      last = number;
      if (kind === undefined) continue;
      if (kind.isText && !isAscii(bytes, begin, at)) return false;
      this.#starts[number] = begin;
      this.#ends[number] = at;
    }
    return at === length;
  }

  has({ number }: DescField): boolean {
    return this.#starts[number]! >= 0;
  }

  /** Where the value of a member begins, after the length that some values have. -1: it is absent. */
  startOf({ number }: DescField): number {
    return this.#starts[number]!;
  }

  /** Where the value ends; -1 as well if it is absent. */
  endOf({ number }: DescField): number {
    return this.#ends[number]!;
  }

  /** A whole number, 0 if it is absent. Undefined: it is negative, or above 2^49. */
  integer({ number }: DescField): number | undefined {
    return readInteger(this.#bytes, this.#starts[number]!, this.#ends[number]!);
  }

  /** A text, empty if it is absent. */
  text({ number }: DescField): string {
    const start = this.#starts[number]!;
    if (start === absent) return "";
    const { buffer, byteOffset } = this.#bytes;
    return Buffer.from(buffer, byteOffset + start, this.#ends[number]! - start).toString("latin1");
  }
}

/** The whole number between two places of bytes. Undefined: it is negative, or above 2^49. */
export const readInteger = (bytes: Uint8Array, start: number, end: number): number | undefined => {
  if (end - start > exactBytesMax) return undefined;
  let value = 0;
  for (let at = end - 1; at >= start; at -= 1) value = value * (oneByteMax + 1) + (bytes[at]! & oneByteMax);
  return value;
};

const varint: number = WireType.Varint;
const lengthDelimited: number = WireType.LengthDelimited;
const absent = -1;
const noBytes = new Uint8Array(0);
/** The greatest number in one byte of the wire format, the first that does not fit in two, and bytes of a number. */
const oneByteMax = 0x7f;
const twoBytesMax = 0x4000;
const varintBytesMax = 10;
const exactBytesMax = 7;

const kindOf = (field: DescField): MemberKind | undefined => {
  if (field.oneof !== undefined) return undefined;
  if (field.fieldKind === "message" && !field.delimitedEncoding) return { wireType: lengthDelimited, isText: false };
  if (field.fieldKind === "list" && field.scalar === ScalarType.STRING)
    return { wireType: lengthDelimited, isText: true };
  if (field.fieldKind !== "scalar") return undefined;
  if (wholeNumbers.has(field.scalar)) return { wireType: varint, isText: false };
  const isText = field.scalar === ScalarType.STRING;
  return isText || field.scalar === ScalarType.BYTES ? { wireType: lengthDelimited, isText } : undefined;
};

const wholeNumbers = new Set([ScalarType.INT64, ScalarType.UINT64, ScalarType.INT32, ScalarType.BOOL]);

const isAscii = (bytes: Uint8Array, start: number, end: number): boolean => {
  let all = 0;
  for (let at = start; at < end; at += 1) all |= bytes[at]!;
  return all <= oneByteMax;
};
