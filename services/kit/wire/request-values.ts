import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";

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

/**
 * How a member is read: the library looks at what its type is, and not at what its tag says, but for numbers in a list,
 * which may be packed.
 */
interface Member {
  readonly wireType: number;
  readonly isPackable: boolean;
  /** What is in it, if it is a message or an entry of a map. */
  readonly shape: (() => Shape) | undefined;
}

/** The members of a message, by their numbers, or those of an entry. */
interface Shape {
  readonly members: ReadonlyMap<number, Member>;
  /** The key and the value of an entry count with it, unless they are there more than once. */
  readonly isEntry: boolean;
}

const shapes = new WeakMap<DescMessage, Shape>();

const shapeOf = (desc: DescMessage): Shape => {
  let shape = shapes.get(desc);
  if (shape === undefined) {
    const members = new Map(desc.fields.map((field) => [field.number, memberOf(field)]));
    shapes.set(desc, (shape = { members, isEntry: false }));
  }
  return shape;
};

const memberOf = (field: DescField): Member => {
  const { message, scalar } = field;
  if (field.fieldKind === "map") return { ...ofBytes, shape: () => entryShape(field.mapKey, message, scalar) };
  // Made when it is asked for: a type may contain itself.
  if (message !== undefined) return { ...ofBytes, shape: () => shapeOf(message) };
  return { ...ofScalar(scalar), isPackable: field.fieldKind === "list" };
};

const entryShape = (key: ScalarType, message: DescMessage | undefined, scalar: ScalarType | undefined): Shape => {
  const value = message === undefined ? ofScalar(scalar) : { ...ofBytes, shape: () => shapeOf(message) };
  return {
    members: new Map([
      [1, ofScalar(key)],
      [2, value],
    ]),
    isEntry: true,
  };
};

const varint = 0;
const fixed64 = 1;
const lengthDelimited = 2;
const fixed32 = 5;

const ofBytes: Member = { wireType: lengthDelimited, isPackable: false, shape: undefined };

/** Undefined: an enum. */
const ofScalar = (scalar: ScalarType | undefined): Member => ({
  ...ofBytes,
  wireType: scalar === undefined ? varint : (wireTypes[scalar] ?? varint),
});

const wireTypes: Readonly<Partial<Record<ScalarType, number>>> = {
  [ScalarType.STRING]: lengthDelimited,
  [ScalarType.BYTES]: lengthDelimited,
  [ScalarType.DOUBLE]: fixed64,
  [ScalarType.FIXED64]: fixed64,
  [ScalarType.SFIXED64]: fixed64,
  [ScalarType.FLOAT]: fixed32,
  [ScalarType.FIXED32]: fixed32,
  [ScalarType.SFIXED32]: fixed32,
};

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
  count({ members, isEntry }: Shape, start: number, end: number, depth: number): number {
    this.#at = start;
    if (depth > depthMax) this.#count = Infinity;
    for (let seen = 0; this.#at < end && this.#count <= this.#max; seen += 1) {
      const tag = this.#varint(end);
      if (!isEntry || seen >= 2) this.#count += 1;
      const member = members.get(tag >>> 3);
      const told = tag & 0b111;
      const isAsTold = member === undefined || (member.isPackable && told === lengthDelimited);
      const wireType = isAsTold ? told : member.wireType;
      if (wireType === varint) this.#varint(end);
      else if (wireType === fixed64) this.#at += 8;
      else if (wireType === fixed32) this.#at += 4;
      else if (wireType === lengthDelimited) {
        const length = this.#varint(end);
        const after = this.#at + length;
        if (member?.shape !== undefined && length > 0 && after <= end)
          this.count(member.shape(), this.#at, after, depth + 1);
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
