import type { DescMessage, Message } from "@bufbuild/protobuf";

import { TimestampFormat } from "../../gen/quartet/traits/v1/binding_pb.ts";
import type { FieldContract } from "../../services/kit/contract/contract.ts";
import { messageContract } from "../../services/kit/contract/contract.ts";
import { getField, isInstant, isUnset } from "../values/scalars.ts";
import { valueToText } from "../values/writing.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";

export const xmlDeclaration = '<?xml version="1.0" encoding="UTF-8"?>\n';

/** Writes a message as a root element, with the namespace of the dialect if it has one. */
export const writeXmlRoot = (name: string, message: Message, desc: DescMessage, spelling: DialectSpelling): string => {
  const { xmlNamespace } = spelling.dialect;
  const namespace = xmlNamespace === undefined ? "" : ` xmlns="${xmlNamespace}"`;
  return xmlDeclaration + writeElement(name, namespace, message, desc, spelling, true);
};

/** Writes a message as an element; `attributes` begin with a space, or are empty. */
export const writeXmlElement = (
  name: string,
  attributes: string,
  message: Message,
  desc: DescMessage,
  spelling: DialectSpelling,
): string => writeElement(name, attributes, message, desc, spelling, true);

/** Writes an element that holds only text. */
export const writeXmlText = (name: string, text: string): string => `<${name}>${escapeText(text)}</${name}>`;

const writeElement = (
  name: string,
  attributes: string,
  message: Message,
  desc: DescMessage,
  spelling: DialectSpelling,
  isTop: boolean,
): string => {
  let opening = `<${name}${attributes}`;
  let content = "";
  for (const field of messageContract(desc).bodyFields) {
    const value = getField(message, field.desc);
    if (value === undefined) continue;
    if (field.xml.isAttribute) opening += writeAttribute(field, value, spelling);
    else if (field.xml.isText) content += escapeText(simpleText(field, value, spelling) ?? "");
    else content += writeField(field, value, spelling, isTop);
  }
  return content === "" ? `${opening}/>` : `${opening}>${content}</${name}>`;
};

/** An attribute with a prefix also declares the prefix, as the readers of such documents expect. */
const writeAttribute = (field: FieldContract, value: unknown, spelling: DialectSpelling): string => {
  const text = simpleText(field, value, spelling);
  if (text === undefined || text === "") return "";
  const declaration = field.wireName.startsWith("xsi:") ? ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"' : "";
  return `${declaration} ${field.wireName}="${escapeText(text)}"`;
};

const writeField = (field: FieldContract, value: unknown, spelling: DialectSpelling, isTop: boolean): string => {
  const name = spelling.member(field);
  const { desc } = field;
  if (desc.fieldKind === "list") return writeList(name, field, value as unknown[], spelling, isTop);
  if (desc.fieldKind === "map") return writeMap(name, field, value as Record<string, unknown>, spelling, false);
  if (desc.fieldKind === "message" && !isInstant(desc))
    return writeMessage(name, value as Message, desc.message, spelling);
  if (isUnset(desc, value) && !field.constraints.isRequired) return "";
  const text = simpleText(field, value, spelling);
  return text === undefined ? "" : writeXmlText(name, text);
};

const writeMessage = (name: string, message: Message, desc: DescMessage, spelling: DialectSpelling): string => {
  const { wrapped } = messageContract(desc);
  if (wrapped === undefined) return writeElement(name, "", message, desc, spelling, false);
  const value = getField(message, wrapped.desc);
  return wrapped.desc.fieldKind === "list"
    ? writeList(name, wrapped, value as unknown[], spelling, true)
    : writeMap(name, wrapped, value as Record<string, unknown>, spelling, true);
};

const writeList = (
  name: string,
  field: FieldContract,
  items: readonly unknown[],
  spelling: DialectSpelling,
  writesEmpty: boolean,
): string => {
  if (field.xml.isFlattened) return items.map((item) => writeItem(name, field, item, spelling)).join("");
  if (items.length === 0) return writesEmpty ? `<${name}/>` : "";
  const memberName = field.xml.memberName ?? "member";
  return `<${name}>${items.map((item) => writeItem(memberName, field, item, spelling)).join("")}</${name}>`;
};

const writeMap = (
  name: string,
  field: FieldContract,
  map: Record<string, unknown>,
  spelling: DialectSpelling,
  writesEmpty: boolean,
): string => {
  const entries = Object.entries(map).map(
    ([key, value]) => writeXmlText("key", key) + writeItem("value", field, value, spelling),
  );
  if (field.xml.isFlattened) return entries.map((entry) => `<${name}>${entry}</${name}>`).join("");
  if (entries.length === 0) return writesEmpty ? `<${name}/>` : "";
  const entryName = field.xml.memberName ?? "entry";
  return `<${name}>${entries.map((entry) => `<${entryName}>${entry}</${entryName}>`).join("")}</${name}>`;
};

const writeItem = (name: string, field: FieldContract, value: unknown, spelling: DialectSpelling): string =>
  field.desc.message === undefined || isInstant(field.desc)
    ? writeXmlText(name, simpleText(field, value, spelling) ?? "")
    : writeMessage(name, value as Message, field.desc.message, spelling);

const simpleText = (field: FieldContract, value: unknown, spelling: DialectSpelling): string | undefined => {
  const text = valueToText(field, value, TimestampFormat.DATE_TIME, spelling);
  return field.isPercentEncoded && text !== undefined ? encodeURIComponent(text) : text;
};

const special = /[&<>"\r\n\t]|[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  // A parser would normalize these to other white space.
  "\r": "&#13;",
  "\n": "&#10;",
  "\t": "&#9;",
};

/** Characters that XML cannot contain become U+FFFD; clients avoid that with `encoding-type=url`. */
const escapeText = (text: string): string => text.replace(special, (each) => escapes[each] ?? "\uFFFD");
