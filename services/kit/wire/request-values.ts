import type { DescField, DescMessage } from "@bufbuild/protobuf";

import { valuesMaxOf } from "../contract/values-max.ts";
import { hasMoreJsonValues } from "../json/json-values.ts";
import type { ProtocolError } from "./protocol-error.ts";
import { malformed } from "./protocol-error.ts";

/** A value has a tag and at least one byte more, so shorter messages have fewer than any type may have. */
const checkedBytesMin = 50_000;

/** Deeper messages are refused; the contract's own are not half as deep. */
const depthMax = 100;

/**
 * Throws ProtocolError if the bytes of a message have more values than its type may have, or are nested too deeply.
 * They are counted where they are, up to that number: to make a message of them would take ten times as long. Bytes
 * that are no message are left to who decodes them.
 */
export const refuseManyValues = (desc: DescMessage, bytes: Uint8Array): void => {
  if (bytes.length <= checkedBytesMin) return;
  const max = valuesMaxOf(desc);
  if (new ValueCounter(bytes, max).count(shapeOf(desc), 0, bytes.length, 0) > max) throw tooMany(max);
};

/** The same for a message in JSON, whose values in texts within texts do not count. */
export const refuseManyJsonValues = (desc: DescMessage, bytes: Uint8Array): void => {
  if (bytes.length <= checkedBytesMin) return;
  const max = valuesMaxOf(desc);
  if (hasMoreJsonValues(bytes, max)) throw tooMany(max);
};

const tooMany = (max: number): ProtocolError => malformed(`The request has more than ${max} values.`);

/** The messages in a message, by the numbers of their members. */
interface Shape {
  inner(number: number): Shape | undefined;
}

const shapes = new WeakMap<DescMessage, Shape>();

const shapeOf = (desc: DescMessage): Shape => {
  let shape = shapes.get(desc);
  if (shape === undefined) {
    const messages = new Map(desc.fields.flatMap((field) => innerOf(field)));
    shapes.set(desc, (shape = { inner: (number) => messages.get(number)?.() }));
  }
  return shape;
};

/** Made when it is asked for: a type may contain itself. */
const innerOf = (field: DescField): readonly (readonly [number, () => Shape])[] => {
  const { message } = field;
  if (message === undefined) return [];
  if (field.fieldKind !== "map") return [[field.number, () => shapeOf(message)]];
  return [[field.number, () => ({ inner: (number) => (number === entryValue ? shapeOf(message) : undefined) })]];
};

/** The number of the value in an entry of a map. */
const entryValue = 2;

const varint = 0;
const fixed64 = 1;
const lengthDelimited = 2;
const fixed32 = 5;

/** Counts the members in the bytes of a message, and of the messages in it. */
class ValueCounter {
  readonly #bytes: Uint8Array;
  readonly #max: number;
  #at = 0;
  #count = 0;

  constructor(bytes: Uint8Array, max: number) {
    this.#bytes = bytes;
    this.#max = max;
  }

  /** How many there are so far, between two places; more than the maximum if there are too many. */
  count(shape: Shape, start: number, end: number, depth: number): number {
    this.#at = start;
    if (depth > depthMax) this.#count = Infinity;
    while (this.#at < end && this.#count <= this.#max) {
      const tag = this.#varint(end);
      this.#count += 1;
      const wireType = tag & 0b111;
      if (wireType === varint) this.#varint(end);
      else if (wireType === fixed64) this.#at += 8;
      else if (wireType === fixed32) this.#at += 4;
      else if (wireType === lengthDelimited) {
        const length = this.#varint(end);
        const after = this.#at + length;
        const inner = length > 0 && after <= end ? shape.inner(tag >>> 3) : undefined;
        if (inner !== undefined) this.count(inner, this.#at, after, depth + 1);
        this.#at = after;
      }
      // What remains is the beginning and the end of a group, whose members count like those around it.
    }
    return this.#count;
  }

  /** Exact up to 2^32, which bounds tags and lengths. */
  #varint(end: number): number {
    let value = 0;
    for (let shift = 1; this.#at < end; shift *= 0x80) {
      const byte = this.#bytes[this.#at]!;
      this.#at += 1;
      value += (byte & 0x7f) * shift;
      if (byte < 0x80) break;
    }
    return value;
  }
}
