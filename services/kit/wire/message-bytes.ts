import type { DescField, DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";

import { KeptBytes } from "./kept-bytes.ts";
import { KeptMemory } from "./kept-memory.ts";

/**
 * The bytes of many messages of the same few members, written without making messages. The caller writes the members in
 * the order of their numbers, as the library does, and waits for nothing before they are taken.
 */
export class MessageBytes extends KeptBytes {
  constructor() {
    super(memory, firstBytes);
  }

  /** Begins a member that has a length; returns what `close` needs. */
  open(field: DescField): number {
    this.reserve(headBytesMax);
    this.#tag(field, WireType.LengthDelimited);
    this.at += 1;
    return this.at;
  }

  /** Ends the member that was begun last. */
  close(start: number): void {
    const size = this.at - start;
    if (size > oneByteMax) {
      this.reserve(headBytesMax);
      const further = varintBytes(size) - 1;
      this.bytes.copyWithin(start + further, start, this.at);
      this.at += further;
    }
    writeVarint(this.bytes, size, start - 1);
  }

  /** A whole number from 0 to 2^53 - 1. */
  integer(field: DescField, value: number): void {
    this.reserve(headBytesMax);
    this.#tag(field, WireType.Varint);
    this.at = writeVarint(this.bytes, value, this.at);
  }

  /** A whole number as it is written in other bytes. */
  integerOf(field: DescField, from: Uint8Array, start: number, end: number): void {
    this.reserve(headBytesMax);
    this.#tag(field, WireType.Varint);
    this.addBytes(from, start, end);
  }

  text(field: DescField, value: string): void {
    const start = this.open(field);
    this.addText(value);
    this.close(start);
  }

  /** A text or bytes as they are in other bytes, between two more bytes if that is wanted. */
  member(field: DescField, from: Uint8Array, start: number, end: number, around?: number): void {
    const begin = this.open(field);
    if (around !== undefined) this.#byte(around);
    this.addBytes(from, start, end);
    if (around !== undefined) this.#byte(around);
    this.close(begin);
  }

  /** All of them. Nothing can be written any more. */
  take(): Uint8Array {
    const taken = new Uint8Array(this.written);
    this.release();
    return taken;
  }

  #byte(byte: number): void {
    this.reserve(1);
    this.bytes[this.at++] = byte;
  }

  #tag({ number }: DescField, wireType: WireType): void {
    this.at = writeVarint(this.bytes, ((number << 3) | wireType) >>> 0, this.at);
  }
}

const memory = new KeptMemory();
const firstBytes = 32 * 1024;
const oneByteMax = 0x7f;
/** The most bytes of a tag or of a number, and of one after the other. */
const varintBytesMax = 10;
const headBytesMax = 2 * varintBytesMax;
/** Numbers below this one can be shifted. */
const shiftedMax = 2 ** 31;

const varintBytes = (value: number): number => {
  let bytes = 1;
  for (let left = value; left > oneByteMax; left >>>= 7) bytes += 1;
  return bytes;
};

/** Writes a whole number from a place on; returns the place after it. */
const writeVarint = (into: Uint8Array, value: number, begin: number): number => {
  let at = begin;
  let left = value;
  for (; left >= shiftedMax; left = Math.floor(left / 0x80)) into[at++] = (left % 0x80) | 0x80;
  for (; left > oneByteMax; left >>>= 7) into[at++] = (left & oneByteMax) | 0x80;
  into[at++] = left;
  return at;
};

/** Items of lists of a message as bytes, by the lists' names: each item with its tag and its length. */
type EncodedLists<D extends DescMessage> = { readonly [F in keyof MessageShape<D>]?: Uint8Array };

/**
 * A message, and lists of it as bytes. The items are written after the other members, so who reads the message has it
 * with its items.
 */
export const withEncodedLists = <D extends DescMessage>(
  desc: D,
  init: MessageInitShape<D>,
  lists: EncodedLists<D>,
): MessageShape<D> => {
  const message = create(desc, init);
  for (const [name, items] of Object.entries<Uint8Array | undefined>(lists)) {
    const list = desc.field[name];
    if (list === undefined || items === undefined || items.length === 0) continue;
    const tagBytes = varintBytes(list.number << 3);
    message.$unknown = [
      ...(message.$unknown ?? []),
      { no: list.number, wireType: WireType.LengthDelimited, data: items.subarray(tagBytes) },
    ];
  }
  return message;
};
