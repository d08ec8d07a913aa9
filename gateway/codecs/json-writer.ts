import type { DescMessage, Message } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";

import { TimestampFormat } from "../../gen/quartet/traits/v1/binding_pb.ts";
import type { FieldContract } from "../../services/kit/contract/contract.ts";
import { messageContract } from "../../services/kit/contract/contract.ts";
import { enumToText, getField, instantToText, isInstant, isUnset } from "../values/scalars.ts";
import { stringToDialect } from "../values/writing.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";

/**
 * Writes the body members of a message as a JSON object. An empty list of the message itself is written, because
 * clients iterate over listings; an empty list of a nested message is omitted, and an empty map unless it is required.
 */
export const writeJsonMembers = (message: Message, desc: DescMessage, spelling: DialectSpelling): string =>
  writeMembers(message, desc, spelling, true);

const writeMembers = (message: Message, desc: DescMessage, spelling: DialectSpelling, isTop: boolean): string => {
  let text = "";
  for (const field of messageContract(desc).bodyFields) {
    const value = getField(message, field.desc);
    const written = value === undefined ? undefined : writeField(field, value, spelling, isTop);
    if (written === undefined) continue;
    text += `${text === "" ? "" : ","}${JSON.stringify(spelling.member(field))}:${written}`;
  }
  return `{${text}}`;
};

/** Undefined if the field is unset, and so omitted. */
const writeField = (
  field: FieldContract,
  value: unknown,
  spelling: DialectSpelling,
  isTop: boolean,
): string | undefined => {
  const { desc } = field;
  switch (desc.fieldKind) {
    case "message":
      return isInstant(desc)
        ? writeInstant(field, value as Timestamp)
        : writeMessage(value as Message, desc.message, spelling);
    case "list":
      return (value as unknown[]).length === 0 && !isTop ? undefined : writeList(field, value as unknown[], spelling);
    case "map":
      return writeMap(field, value as Record<string, unknown>, spelling, field.constraints.isRequired);
    default:
      if (isUnset(desc, value) && !field.constraints.isRequired && !field.isWrittenEmpty) return undefined;
      return writeSimple(field, value, spelling);
  }
};

const writeMessage = (message: Message, desc: DescMessage, spelling: DialectSpelling): string => {
  const { wrapped } = messageContract(desc);
  if (wrapped === undefined) return writeMembers(message, desc, spelling, false);
  const value = getField(message, wrapped.desc);
  return wrapped.desc.fieldKind === "list"
    ? writeList(wrapped, value as unknown[], spelling)
    : writeMap(wrapped, value as Record<string, unknown>, spelling, true)!;
};

const writeList = (field: FieldContract, items: readonly unknown[], spelling: DialectSpelling): string =>
  `[${items.map((item) => writeElement(field, item, spelling)).join(",")}]`;

const writeMap = (
  field: FieldContract,
  map: Record<string, unknown>,
  spelling: DialectSpelling,
  writesEmpty: boolean,
): string | undefined => {
  const entries = Object.entries(map);
  if (entries.length === 0 && !writesEmpty) return undefined;
  return `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${writeElement(field, value, spelling)}`).join(",")}}`;
};

const writeElement = (field: FieldContract, value: unknown, spelling: DialectSpelling): string => {
  if (field.desc.message === undefined) return writeSimple(field, value, spelling);
  if (isInstant(field.desc)) return writeInstant(field, value as Timestamp);
  return writeMessage(value as Message, field.desc.message, spelling);
};

const writeSimple = (field: FieldContract, value: unknown, spelling: DialectSpelling): string => {
  if (field.desc.enum !== undefined)
    return JSON.stringify(enumToText(field.desc.enum, value as number, spelling) ?? "");
  switch (field.desc.scalar) {
    case ScalarType.STRING:
      return JSON.stringify(stringToDialect(field, value as string, spelling));
    case ScalarType.BYTES:
      return JSON.stringify(Buffer.from(value as Uint8Array).toString("base64"));
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return Number.isFinite(value) ? String(value) : JSON.stringify(String(value));
    default:
      return String(value);
  }
};

const writeInstant = (field: FieldContract, value: Timestamp): string => {
  const format = field.timestampFormat || TimestampFormat.EPOCH_SECONDS;
  const text = instantToText(value, format);
  return format === TimestampFormat.EPOCH_SECONDS ? text : JSON.stringify(text);
};
