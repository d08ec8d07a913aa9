import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type { FieldContract } from "../../services/kit/contract/contract.ts";
import { messageContract } from "../../services/kit/contract/contract.ts";
import type { Reading } from "../values/reading.ts";
import { valueFromText } from "../values/reading.ts";
import { getField, isInstant, setField } from "../values/scalars.ts";
import type { XmlElement } from "./xml-tree.ts";

/** Sets the body members of a message from an element; unknown elements are ignored. */
export const readXmlMembers = (message: Message, desc: DescMessage, element: XmlElement, reading: Reading): void =>
  readMembers(message, desc, element, "", reading);

const readMembers = (
  message: Message,
  desc: DescMessage,
  element: XmlElement,
  path: string,
  reading: Reading,
): void => {
  const contract = messageContract(desc);
  for (const child of element.children) {
    const field = contract.findMember(child.name);
    if (field === undefined || field.xml.isAttribute || field.xml.isText) continue;
    const name = reading.spelling.member(field);
    readMember(message, field, child, path === "" ? name : `${path}.${name}`, reading);
  }
  for (const field of contract.bodyFields) {
    const text = field.xml.isText
      ? element.text
      : field.xml.isAttribute
        ? element.attributes[field.wireName]
        : undefined;
    if (text !== undefined && text !== "") set(message, field, valueFromText(field, text, path, reading));
  }
};

const set = (message: Message, field: FieldContract, value: unknown): void => {
  if (value !== undefined) setField(message, field.desc, value);
};

const readMember = (
  message: Message,
  field: FieldContract,
  element: XmlElement,
  path: string,
  reading: Reading,
): void => {
  const { desc } = field;
  switch (desc.fieldKind) {
    case "message":
      if (isInstant(desc)) set(message, field, valueFromText(field, element.text, path, reading));
      else readMessageField(message, field, desc.message, element, path, reading);
      return;
    case "list": {
      const items = getField(message, desc) as unknown[];
      if (field.xml.isFlattened) addElement(items, field, desc, element, `${path}[${items.length}]`, reading);
      else
        for (const child of element.children)
          addElement(items, field, desc, child, `${path}[${items.length}]`, reading);
      return;
    }
    case "map": {
      const map = getField(message, desc) as Record<string, unknown>;
      for (const entry of field.xml.isFlattened ? [element] : element.children)
        addEntry(map, field, entry, path, reading);
      return;
    }
    default:
      set(message, field, valueFromText(field, element.text, path, reading));
  }
};

/** The element of a wrapper is the list or map itself; a flattened one is repeated for each of its elements. */
const readMessageField = (
  message: Message,
  field: FieldContract,
  desc: DescMessage,
  element: XmlElement,
  path: string,
  reading: Reading,
): void => {
  const { wrapped } = messageContract(desc);
  if (wrapped === undefined) {
    const inner = create(desc);
    readMembers(inner, desc, element, path, reading);
    setField(message, field.desc, inner);
    return;
  }
  const inner = (getField(message, field.desc) as Message | undefined) ?? create(desc);
  readMember(inner, wrapped, element, path, reading);
  setField(message, field.desc, inner);
};

const addElement = (
  items: unknown[],
  field: FieldContract,
  desc: DescField & { fieldKind: "list" },
  element: XmlElement,
  path: string,
  reading: Reading,
): void => {
  if (desc.message === undefined || isInstant(desc)) {
    const value = valueFromText(field, element.text, path, reading);
    if (value !== undefined) items.push(value);
    return;
  }
  const inner = create(desc.message);
  readMembers(inner, desc.message, element, path, reading);
  items.push(inner);
};

const addEntry = (
  map: Record<string, unknown>,
  field: FieldContract,
  entry: XmlElement,
  path: string,
  reading: Reading,
): void => {
  const key = entry.children.find((child) => child.name === "key")?.text;
  const value = entry.children.find((child) => child.name === "value");
  if (key === undefined || value === undefined) return;
  const read = valueFromText(field, value.text, `${path}.${key}`, reading);
  if (read !== undefined)
    Object.defineProperty(map, key, { value: read, enumerable: true, configurable: true, writable: true });
};
