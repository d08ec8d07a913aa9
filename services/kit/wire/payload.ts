import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";

import { http_payload } from "../../../gen/quartet/traits/v1/binding_pb.ts";
import { readOption } from "../contract/options.ts";

/** The position of the payload in a message's bytes: as the last member, it extends to their end. */
interface PayloadPlace {
  /** The other members are the bytes before this offset. */
  readonly headEnd: number;
  /** The payload is the bytes from this offset on. */
  readonly start: number;
}

/** Finds the payload by the first bytes of a message; undefined if it is absent or not the last member. */
export type PayloadFinder = (opening: Uint8Array, messageBytes: number) => PayloadPlace | undefined;

/**
 * The bytes member that a stream of these messages carries (`http_payload`). The stream is one sequence of bytes,
 * divided into messages only for the transfer, so a reader may divide it differently: it passes on the received part of
 * a large message as a message of its own instead of gathering it.
 */
export const payloadField = (desc: DescMessage): DescField | undefined =>
  desc.fields.find(
    (field) => field.fieldKind === "scalar" && field.scalar === ScalarType.BYTES && readOption(field, http_payload),
  );

/** The finder of one payload member. */
export const payloadFinder =
  (field: DescField): PayloadFinder =>
  (opening, messageBytes) => {
    const cursor = new Cursor(opening);
    for (;;) {
      const headEnd = cursor.offset;
      const tag = cursor.varint();
      if (tag === undefined) return undefined;
      const wireType = tag & 0b111;
      if (wireType === lengthDelimited) {
        const length = cursor.varint();
        if (length === undefined) return undefined;
        if (tag >>> 3 === field.number && cursor.offset + length === messageBytes)
          return { headEnd, start: cursor.offset };
        cursor.offset += length;
      } else if (wireType === varint) cursor.varint();
      else if (wireType === fixed64) cursor.offset += 8;
      else if (wireType === fixed32) cursor.offset += 4;
      else return undefined;
    }
  };

const varint = 0;
const fixed64 = 1;
const lengthDelimited = 2;
const fixed32 = 5;

/** Reads tags and lengths of the wire format; other values are skipped. */
class Cursor {
  offset = 0;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Undefined if the bytes end within it. Exact up to 2^32, which bounds tags and lengths. */
  varint(): number | undefined {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#bytes[this.offset];
      if (byte === undefined) return undefined;
      this.offset += 1;
      if (shift < 35) value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    return undefined;
  }
}
