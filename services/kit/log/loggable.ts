import type { DescField, DescMessage, DescMethod, Message } from "@bufbuild/protobuf";
import { isFieldSet } from "@bufbuild/protobuf";

import { fieldContract, methodContract } from "../contract/contract.ts";

/** Replaces a value that must not be logged. */
const hidden = "[hidden]";
const textLengthMax = 128;
const elementsMax = 8;
const depthMax = 6;

/**
 * A request as a log line may show it: without the values of `sensitive` members and of page tokens, bytes by their
 * count, long texts and lists cut. Unset members are left out.
 */
export const loggableRequest = (method: DescMethod, request: Message): object =>
  showMessage(method.input, request, tokenName(method), 0);

const tokenName = (method: DescMethod): string | undefined => methodContract(method).pagination?.inputToken;

const showMessage = (desc: DescMessage, message: Message, token: string | undefined, depth: number): object => {
  const shown: Record<string, unknown> = {};
  for (const field of desc.fields) {
    if (!isFieldSet(message, field)) continue;
    const isSecret = field.name === token || fieldContract(field).constraints.isSensitive;
    shown[field.localName] = isSecret ? hidden : show(field, valueOf(field, message), depth);
  }
  return shown;
};

const valueOf = (field: DescField, message: Message): unknown => {
  const members = message as unknown as Record<string, unknown>;
  if (field.oneof === undefined) return members[field.localName];
  return (members[field.oneof.localName] as { readonly value?: unknown }).value;
};

const show = (field: DescField, value: unknown, depth: number): unknown => {
  if (depth === depthMax) return "…";
  if (field.fieldKind === "list") {
    const items = value as unknown[];
    const shown = items.slice(0, elementsMax).map((item) => showOne(field.message, item, depth));
    return items.length > elementsMax ? [...shown, `… ${items.length} in all`] : shown;
  }
  if (field.fieldKind === "map") {
    const entries = Object.entries(value as object);
    const shown = entries.slice(0, elementsMax).map(([key, item]) => [cut(key), showOne(field.message, item, depth)]);
    return Object.fromEntries(shown);
  }
  return showOne(field.message, value, depth);
};

const showOne = (desc: DescMessage | undefined, value: unknown, depth: number): unknown => {
  if (desc !== undefined) return showMessage(desc, value as Message, undefined, depth + 1);
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (typeof value === "bigint") return String(value);
  return typeof value === "string" ? cut(value) : value;
};

const cut = (text: string): string => (text.length <= textLengthMax ? text : `${text.slice(0, textLengthMax)}…`);
