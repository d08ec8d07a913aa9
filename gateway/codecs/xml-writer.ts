import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { fromBinary, ScalarType } from "@bufbuild/protobuf";

import { TimestampFormat } from "../../gen/quartet/traits/v1/binding_pb.ts";
import type { FieldContract } from "../../services/kit/contract/contract.ts";
import { messageContract } from "../../services/kit/contract/contract.ts";
import { getField, isInstant, isUnset } from "../values/scalars.ts";
import { textWriter } from "../values/writing.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import { encodedContentWriter, elementWriter } from "./xml-items.ts";
import { escapeText, XmlBytes } from "./xml-text.ts";

export const xmlDeclaration = '<?xml version="1.0" encoding="UTF-8"?>\n';

/** Writes a document whose root element is a message, with the namespace of the dialect if it has one. */
export const writeXmlRoot = (name: string, message: Message, desc: DescMessage, spelling: DialectSpelling): Buffer => {
  const { xmlNamespace } = spelling.dialect;
  const namespace = xmlNamespace === undefined ? "" : ` xmlns="${xmlNamespace}"`;
  const pieces: Buffer[] = [];
  const kept: XmlBytes[] = [];
  const out: Output = { text: xmlDeclaration, pieces, kept };
  writeElement(out, tagsOf(name), namespace, message, contentWriter(desc, spelling), true);
  const rest = Buffer.from(out.text);
  const document = pieces.length === 0 ? rest : Buffer.concat([...pieces, rest]);
  for (const each of kept) each.release();
  return document;
};

/** Writes a message as an element; `attributes` begin with a space, or are empty. */
export const writeXmlElement = (
  name: string,
  attributes: string,
  message: Message,
  desc: DescMessage,
  spelling: DialectSpelling,
): string => {
  const out: Output = { text: "", pieces: undefined };
  writeElement(out, tagsOf(name), attributes, message, contentWriter(desc, spelling), true);
  return out.text;
};

/** Writes an element that holds only text. */
export const writeXmlText = (name: string, text: string): string => `<${name}>${escapeText(text)}</${name}>`;

/** The document so far: its text, after pieces that are bytes already. */
interface Output {
  text: string;
  /** Undefined: there are none, however long the text. */
  readonly pieces: Buffer[] | undefined;
  /** Those of the pieces that are released when they were copied. */
  readonly kept?: XmlBytes[];
}

/**
 * Texts of this length become bytes: a text of thousands of parts is a tree that is walked when it becomes bytes, and a
 * long one is no longer in the processor's caches then.
 */
const pieceLength = 2_000;

/** Writes an item of a list, after which the text may become bytes: the elements around it are not empty. */
const writeListItem = (out: Output, write: ValueWriter, item: unknown): void => {
  const { length } = out.text;
  write(out, item, false);
  if (out.pieces === undefined || out.text.length < pieceLength || out.text.length <= length) return;
  out.pieces.push(Buffer.from(out.text));
  out.text = "";
};

/** The tags of elements of one name, made once. */
interface Tags {
  readonly name: string;
  readonly opening: string;
  readonly closing: string;
  readonly empty: string;
}

const tagsOf = (name: string): Tags => ({
  name,
  opening: `<${name}>`,
  closing: `</${name}>`,
  empty: `<${name}/>`,
});

/** Adds one value to a document. `isTop`: it is a member of the document's own message. */
type ValueWriter = (out: Output, value: unknown, isTop: boolean) => void;

/** Writes the members of one message type in one dialect. */
interface ContentWriter {
  /** The attributes of the element, each with a space before it. */
  attributes(message: Message): string;
  content(out: Output, message: Message, isTop: boolean): void;
}

const compiled = new WeakMap<DialectSpelling, WeakMap<DescMessage, ContentWriter>>();

/** The writer of a message type, compiled once for each dialect: a listing writes thousands of the same. */
const contentWriter = (desc: DescMessage, spelling: DialectSpelling): ContentWriter => {
  const own = compiled.get(spelling) ?? new WeakMap<DescMessage, ContentWriter>();
  compiled.set(spelling, own);
  let writer = own.get(desc);
  if (writer === undefined) {
    writer = compileContent(desc, spelling);
    own.set(desc, writer);
  }
  return writer;
};

const compileContent = (desc: DescMessage, spelling: DialectSpelling): ContentWriter => {
  const { bodyFields: fields, fields: all } = messageContract(desc);
  const inside = fields.filter(({ xml }) => !xml.isAttribute);
  const attributes = fields.filter(({ xml }) => xml.isAttribute).map((field) => compileAttribute(field, spelling));
  // Compiled when the first message is written: a type may contain itself.
  let members: readonly MemberWriter[] | undefined;
  return {
    attributes: (message) => attributes.reduce((text, write) => text + write(message), ""),
    content: (out, message, isTop) => {
      members ??= compileMembers(inside, all, spelling);
      for (const write of members) write(out, message, isTop);
    },
  };
};

/** Adds one member of a message, or two lists that are written as one. */
type MemberWriter = (out: Output, message: Message, isTop: boolean) => void;

const compileMembers = (
  inside: readonly FieldContract[],
  all: readonly FieldContract[],
  spelling: DialectSpelling,
): MemberWriter[] => {
  const members: MemberWriter[] = [];
  for (const [index, field] of inside.entries()) {
    const { positions } = field.xml;
    const before = inside[index - 1];
    if (positions === undefined || before === undefined) members.push(compileMember(field, spelling));
    else {
      const told = all.find(({ desc }) => desc.name === positions);
      if (told === undefined) throw new Error(`${field.desc.name} has no ${positions} beside it`);
      members.push(compileMixed(members.pop()!, before, field, told.desc, spelling));
    }
  }
  return members;
};

const compileMember = (field: FieldContract, spelling: DialectSpelling): MemberWriter => {
  const write = compileField(field, spelling);
  return (out, message, isTop) => {
    const value = getField(message, field.desc);
    if (value !== undefined) write(out, value, isTop);
  };
};

const writeElement = (
  out: Output,
  tags: Tags,
  attributes: string,
  message: Message,
  writer: ContentWriter,
  isTop: boolean,
): void => {
  const given = attributes + writer.attributes(message);
  const before = out.text;
  const pieces = out.pieces?.length;
  out.text += given === "" ? tags.opening : `<${tags.name}${given}>`;
  const { length } = out.text;
  writer.content(out, message, isTop);
  if (out.text.length > length || out.pieces?.length !== pieces) out.text += tags.closing;
  else out.text = before + (given === "" ? tags.empty : `<${tags.name}${given}/>`);
};

/** An attribute with a prefix also declares the prefix, as the readers of such documents expect. */
const compileAttribute = (field: FieldContract, spelling: DialectSpelling): ((message: Message) => string) => {
  const { wireName: name } = field;
  const declaration = name.startsWith("xsi:") ? ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"' : "";
  const toText = simpleText(field, spelling);
  return (message) => {
    const value = getField(message, field.desc);
    const text = value === undefined ? undefined : toText(value);
    return text === undefined || text === "" ? "" : `${declaration} ${name}="${escapeText(text)}"`;
  };
};

const compileField = (field: FieldContract, spelling: DialectSpelling): ValueWriter => {
  const { desc } = field;
  if (field.xml.isText) {
    const toText = simpleText(field, spelling);
    return (out, value) => {
      const text = toText(value) ?? "";
      out.text += escapeText(text);
    };
  }
  const tags = tagsOf(spelling.member(field));
  if (desc.fieldKind === "list") return compileList(tags, field, spelling);
  if (desc.fieldKind === "map") return compileMap(tags, field, spelling);
  if (desc.fieldKind === "message" && !isInstant(desc)) return compileMessage(tags, desc.message, spelling);
  const toText = simpleText(field, spelling);
  const isWritten = field.constraints.isRequired ? always : presenceOf(desc);
  const escape = isPlain(desc) ? asItIs : escapeText;
  return (out, value) => {
    if (!isWritten(value)) return;
    const text = toText(value);
    if (text !== undefined) out.text += tags.opening + escape(text) + tags.closing;
  };
};

const always = (): boolean => true;
const asItIs = (text: string): string => text;

/** Whether a value of the field counts as set; a field whose values all do costs no look at them. */
const presenceOf = (desc: DescField): ((value: unknown) => boolean) => {
  const hasDefault = isUnset(desc, desc.fieldKind === "enum" ? 0 : "");
  return hasDefault ? (value) => !isUnset(desc, value) : always;
};

/** Whether the texts of a field never need escapes. */
const isPlain = (desc: DescField): boolean =>
  isInstant(desc) || (desc.fieldKind === "scalar" && desc.scalar !== ScalarType.STRING);

const compileMessage = (tags: Tags, desc: DescMessage, spelling: DialectSpelling): ValueWriter => {
  const { wrapped } = messageContract(desc);
  if (wrapped === undefined) {
    const writer = contentWriter(desc, spelling);
    return (out, value) => writeElement(out, tags, "", value as Message, writer, false);
  }
  const compile = wrapped.desc.fieldKind === "list" ? compileList : compileMap;
  const write = compile(tags, wrapped, spelling);
  // What only wraps a list or a map is written also if that is empty.
  return (out, value) => write(out, getField(value as Message, wrapped.desc), true);
};

const compileList = (tags: Tags, field: FieldContract, spelling: DialectSpelling): ValueWriter => {
  if (field.xml.isFlattened) return compileItems(tags, field, spelling);
  const writeItems = compileItems(tagsOf(field.xml.memberName ?? "member"), field, spelling);
  return (out, items, isTop) => {
    if ((items as readonly unknown[]).length === 0) {
      if (isTop ? !field.xml.isOmittedEmpty : field.isWrittenEmpty) out.text += tags.empty;
      return;
    }
    out.text += tags.opening;
    writeItems(out, items, false);
    out.text += tags.closing;
  };
};

/** Writes the items of a list, which may be encoded messages. */
const compileItems = (tags: Tags, field: FieldContract, spelling: DialectSpelling): ValueWriter => {
  const writeItem = compileItem(tags, field, spelling);
  const { message } = field.desc;
  if (message === undefined) return (out, items) => writeAll(out, writeItem, items as readonly unknown[]);
  // Compiled when the first of them is written: a type may contain itself.
  let writeEncoded: EncodedItemsWriter | undefined;
  return (out, items) => {
    if (!areEncoded(items as readonly unknown[])) return writeAll(out, writeItem, items as readonly unknown[]);
    writeEncoded ??= compileEncodedItems(tags, message, spelling, writeItem);
    writeEncoded(out, items as readonly Uint8Array[]);
  };
};

const writeAll = (out: Output, writeItem: ValueWriter, items: readonly unknown[]): void => {
  for (const item of items) writeListItem(out, writeItem, item);
};

/**
 * Writes two flattened lists of messages as one, in which elements of the second stand at positions that the message
 * tells. Positions that cannot be leave the elements behind all others.
 */
const compileMixed = (
  writeFirst: MemberWriter,
  first: FieldContract,
  second: FieldContract,
  positions: DescField,
  spelling: DialectSpelling,
): MemberWriter => {
  const [ofFirst, ofSecond] = [first, second].map((field) => compileAnyItem(field, spelling)) as [AnyItem, AnyItem];
  return (out, message, isTop) => {
    const items = getField(message, second.desc) as readonly unknown[];
    if (items.length === 0) return writeFirst(out, message, isTop);
    const others = getField(message, first.desc) as readonly unknown[];
    const told = getField(message, positions) as readonly number[];
    const bytes = new XmlBytes();
    let next = 0;
    for (let at = 0; at < others.length + items.length; at += 1) {
      const isSecond = next < items.length && (told[next] === at || at - next === others.length);
      if (isSecond) ofSecond(bytes, items[next++]);
      else ofFirst(bytes, others[at - next]);
    }
    addBytes(out, bytes);
  };
};

/** Adds an item of a list, a message or an encoded one. */
type AnyItem = (bytes: XmlBytes, item: unknown) => void;

const compileAnyItem = (field: FieldContract, spelling: DialectSpelling): AnyItem => {
  const desc = field.desc.message;
  if (desc === undefined || !field.xml.isFlattened) throw new Error(`${field.desc.name} has no elements of its own`);
  const tags = tagsOf(spelling.member(field));
  return encodedItemWriter(tags, desc, spelling, compileItem(tags, field, spelling));
};

const areEncoded = (items: readonly unknown[]): boolean => items[0] instanceof Uint8Array;

type EncodedItemsWriter = (out: Output, items: readonly Uint8Array[]) => void;

/** An item that is not plain becomes a message, which is written as the items of other lists. */
const compileEncodedItems = (
  tags: Tags,
  desc: DescMessage,
  spelling: DialectSpelling,
  writeMessage: ValueWriter,
): EncodedItemsWriter => {
  const writeItem = encodedItemWriter(tags, desc, spelling, writeMessage);
  return (out, items) => {
    const bytes = new XmlBytes();
    for (const item of items) writeItem(bytes, item);
    addBytes(out, bytes);
  };
};

const encodedItemWriter = (
  tags: Tags,
  desc: DescMessage,
  spelling: DialectSpelling,
  writeMessage: ValueWriter,
): AnyItem => {
  const content = encodedContentWriter(desc, spelling);
  const write = content && elementWriter(tags.name, content);
  return (bytes, item) => {
    const isEncoded = item instanceof Uint8Array;
    const { length } = bytes;
    if (isEncoded && write?.(bytes, item, 0, item.length) === true) return;
    bytes.cutAt(length);
    const own: Output = { text: "", pieces: undefined };
    writeMessage(own, isEncoded ? fromBinary(desc, item) : item, false);
    bytes.addText(own.text);
  };
};

const addBytes = (out: Output, bytes: XmlBytes): void => {
  if (out.pieces === undefined) {
    out.text += bytes.written.toString();
    bytes.release();
    return;
  }
  out.pieces.push(Buffer.from(out.text), bytes.written);
  out.kept?.push(bytes);
  out.text = "";
};

/** An empty map is written only where it is wrapped. */
const compileMap = (tags: Tags, field: FieldContract, spelling: DialectSpelling): ValueWriter => {
  const writeItem = compileItem(tagsOf("value"), field, spelling);
  const { isFlattened } = field.xml;
  const entryTags = isFlattened ? tags : tagsOf(field.xml.memberName ?? "entry");
  return (out, map, writesEmpty) => {
    const entries = Object.entries(map as Record<string, unknown>);
    if (entries.length === 0) {
      if (writesEmpty && !isFlattened) out.text += tags.empty;
      return;
    }
    if (!isFlattened) out.text += tags.opening;
    for (const [key, value] of entries) {
      out.text += entryTags.opening + writeXmlText("key", key);
      writeItem(out, value, false);
      out.text += entryTags.closing;
    }
    if (!isFlattened) out.text += tags.closing;
  };
};

const compileItem = (tags: Tags, field: FieldContract, spelling: DialectSpelling): ValueWriter => {
  const { message } = field.desc;
  if (message !== undefined && !isInstant(field.desc)) return compileMessage(tags, message, spelling);
  const toText = simpleText(field, spelling);
  return (out, value) => {
    out.text += tags.opening + escapeText(toText(value) ?? "") + tags.closing;
  };
};

const simpleText = (field: FieldContract, spelling: DialectSpelling): ((value: unknown) => string | undefined) => {
  const toText = textWriter(field, TimestampFormat.DATE_TIME, spelling);
  if (!field.isPercentEncoded) return toText;
  return (value) => {
    const text = toText(value);
    return text === undefined ? undefined : encodeURIComponent(text);
  };
};
