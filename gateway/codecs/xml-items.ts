import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { FeatureSet_FieldPresence, TimestampSchema } from "@bufbuild/protobuf/wkt";

import { TimestampFormat } from "../../gen/quartet/traits/v1/binding_pb.ts";
import type { FieldContract } from "../../services/kit/contract/contract.ts";
import { messageContract } from "../../services/kit/contract/contract.ts";
import { PlainMembers, readInteger } from "../../services/kit/wire/plain-members.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import { instantToText, isInstant, scalarToText } from "../values/scalars.ts";
import { isWrittenAsItIs } from "../values/writing.ts";
import type { XmlBytes } from "./xml-text.ts";

/**
 * Writes the members of a message that is a part of these bytes. False: it is not plain, and what was written is to be
 * removed.
 */
export type EncodedContentWriter = (out: XmlBytes, from: Uint8Array, start: number, end: number) => boolean;

/**
 * The writer of encoded messages of one type: as the writer of messages writes them, for whom making a message of each
 * item of a listing costs as much as writing it. Undefined: the type has members for which there is no such writer.
 */
export const encodedContentWriter = (desc: DescMessage, spelling: DialectSpelling): EncodedContentWriter | undefined =>
  compileContent(desc, spelling, []);

const compileContent = (
  desc: DescMessage,
  spelling: DialectSpelling,
  around: readonly DescMessage[],
): EncodedContentWriter | undefined => {
  const contract = messageContract(desc);
  if (around.includes(desc) || contract.wrapped !== undefined) return undefined;
  const members: { readonly field: DescField; readonly write: EncodedContentWriter }[] = [];
  for (const field of contract.bodyFields) {
    const write = compileMember(field, spelling, [...around, desc]);
    if (write === undefined) return undefined;
    members.push({ field: field.desc, write });
  }
  const found = new PlainMembers(desc);
  return (out, from, start, end) => {
    if (!found.find(from, start, end)) return false;
    for (const { field, write } of members)
      if (found.has(field) && !write(out, from, found.startOf(field), found.endOf(field))) return false;
    return true;
  };
};

const compileMember = (
  field: FieldContract,
  spelling: DialectSpelling,
  around: readonly DescMessage[],
): EncodedContentWriter | undefined => {
  const { desc, xml } = field;
  if (xml.isAttribute || xml.isText || field.isPercentEncoded) return undefined;
  const name = spelling.member(field);
  const tags = tagsOf(name);
  if (desc.fieldKind === "list") {
    if (desc.scalar !== ScalarType.STRING || !isWrittenAsItIs(field)) return undefined;
    const item = writeWithin(xml.isFlattened ? tags : tagsOf(xml.memberName ?? "member"), addText);
    return xml.isFlattened ? item : writeWithin(tags, item);
  }
  if (desc.fieldKind === "message") {
    if (isInstant(desc)) return writeWithin(tags, instantWriter(field.timestampFormat || TimestampFormat.DATE_TIME));
    const content = compileContent(desc.message, spelling, around);
    return content && elementWriter(name, content);
  }
  // A member without presence may be written although it is absent.
  if (desc.fieldKind !== "scalar" || desc.presence !== FeatureSet_FieldPresence.EXPLICIT) return undefined;
  if (desc.scalar === ScalarType.STRING) return isWrittenAsItIs(field) ? writeWithin(tags, addText) : undefined;
  const write = numberWriters[desc.scalar];
  return write && writeWithin(tags, write);
};

const addText: EncodedContentWriter = (out, from, start, end) => {
  out.addEscaped(from, start, end);
  return true;
};

const int32Max = 2 ** 31 - 1;

const numberWriter =
  (scalar: ScalarType): EncodedContentWriter =>
  (out, from, start, end) => {
    const number = readInteger(from, start, end);
    if (number === undefined || (scalar === ScalarType.INT32 && number > int32Max)) return false;
    out.addText(scalarToText(scalar, scalar === ScalarType.BOOL ? number !== 0 : number));
    return true;
  };

const numberWriters: Readonly<Partial<Record<ScalarType, EncodedContentWriter>>> = {
  [ScalarType.BOOL]: numberWriter(ScalarType.BOOL),
  [ScalarType.INT32]: numberWriter(ScalarType.INT32),
  [ScalarType.INT64]: numberWriter(ScalarType.INT64),
  [ScalarType.UINT64]: numberWriter(ScalarType.UINT64),
};

/** Writes instants; those of a listing are often the same as the one before. */
const instantWriter = (format: TimestampFormat): EncodedContentWriter => {
  const found = new PlainMembers(TimestampSchema);
  const last = { seconds: Number.NaN, nanos: Number.NaN, text: "" };
  return (out, from, start, end) => {
    if (!found.find(from, start, end)) return false;
    const seconds = found.integer(TimestampSchema.field.seconds);
    const nanos = found.integer(TimestampSchema.field.nanos);
    if (seconds === undefined || nanos === undefined || seconds > secondsMax || nanos > nanosMax) return false;
    if (seconds !== last.seconds || nanos !== last.nanos) {
      const instant = { seconds: BigInt(seconds), nanos } as Timestamp;
      Object.assign(last, { seconds, nanos, text: instantToText(instant, format) });
    }
    out.addText(last.text);
    return true;
  };
};

/** Of the instants of a protobuf Timestamp. */
const secondsMax = 253_402_300_799;
const nanosMax = 999_999_999;

/** The tags of elements of one name, as bytes. */
interface EncodedTags {
  readonly opening: Uint8Array;
  readonly closing: Uint8Array;
  readonly empty: Uint8Array;
}

const tagsOf = (name: string): EncodedTags => ({
  opening: Buffer.from(`<${name}>`),
  closing: Buffer.from(`</${name}>`),
  empty: Buffer.from(`<${name}/>`),
});

const writeWithin =
  ({ opening, closing }: EncodedTags, write: EncodedContentWriter): EncodedContentWriter =>
  (out, from, start, end) => {
    out.addBytes(opening, 0, opening.length);
    if (!write(out, from, start, end)) return false;
    out.addBytes(closing, 0, closing.length);
    return true;
  };

/** The writer of messages as elements of a name. One that is empty has one tag. */
export const elementWriter = (name: string, write: EncodedContentWriter): EncodedContentWriter => {
  const { opening, closing, empty } = tagsOf(name);
  return (out, from, start, end) => {
    const before = out.length;
    out.addBytes(opening, 0, opening.length);
    const inside = out.length;
    if (!write(out, from, start, end)) return false;
    if (out.length > inside) out.addBytes(closing, 0, closing.length);
    else {
      out.cutAt(before);
      out.addBytes(empty, 0, empty.length);
    }
    return true;
  };
};
