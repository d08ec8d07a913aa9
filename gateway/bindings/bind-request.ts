import type { Message } from "@bufbuild/protobuf";
import { create, ScalarType } from "@bufbuild/protobuf";

import type { FieldContract, MethodContract } from "../../services/kit/contract/contract.ts";
import type { Codec } from "../codecs/codec.ts";
import { malformedBody } from "../refusal.ts";
import type { QueryParameters } from "../http/query.ts";
import type { Reading } from "../values/reading.ts";
import { valueFromText } from "../values/reading.ts";
import { presentFields } from "./present-fields.ts";
import type { BoundHeaders } from "./request-headers.ts";
import { setField } from "../values/scalars.ts";

/** The sources of a request's members except the body. */
export interface RequestLine {
  readonly labels: Readonly<Record<string, string>>;
  readonly query: QueryParameters;
  readonly headers: BoundHeaders;
}

/** Creates the request message of a method from the request line and the headers. */
export const bindRequestLine = (method: MethodContract, parts: RequestLine, reading: Reading): Message => {
  const message = create(method.desc.input);
  for (const field of presentFields(method, parts.query, parts.headers, reading.spelling))
    bindField(message, field, parts, reading);
  return message;
};

/** Sets the members of the body. Throws MALFORMED_BODY. */
export const bindBody = (
  method: MethodContract,
  message: Message,
  body: Buffer,
  codec: Codec,
  reading: Reading,
): void => {
  const { payload } = method.input;
  if (payload === undefined) {
    if (method.input.bodyFields.length > 0) codec.readMembers(message, method.desc.input, body, reading);
    return;
  }
  const value = readPayload(payload, body, codec, reading);
  if (value !== undefined) setField(message, payload.desc, value);
  else if (payload.constraints.isRequired) throw malformedBody("The request needs a body.");
};

/** Whether a method receives its body while it arrives. */
export const streamsBody = (method: MethodContract): boolean =>
  method.desc.methodKind === "client_streaming" || method.desc.methodKind === "bidi_streaming";

/** Whether a method reads a body at all. */
export const takesBody = (method: MethodContract): boolean =>
  method.input.payload !== undefined || method.input.bodyFields.length > 0;

const bindField = (message: Message, field: FieldContract, parts: RequestLine, reading: Reading): void => {
  const { location } = field;
  switch (location.kind) {
    case "label": {
      const text = parts.labels[field.wireName];
      if (text !== undefined) set(message, field, valueFromText(field, text, reading.spelling.member(field), reading));
      return;
    }
    case "query":
      return bindQuery(message, field, location.name, parts.query, reading);
    case "header":
      return bindHeader(message, field, location.name, parts.headers, reading);
    case "prefixHeaders": {
      const entries = parts.headers.withPrefix(location.prefix);
      if (entries.length > 0) set(message, field, Object.fromEntries(entries));
      return;
    }
    case "payload":
    case "statusCode":
    case "body":
    case "rpcOnly":
      return;
  }
};

const bindQuery = (
  message: Message,
  field: FieldContract,
  name: string,
  query: QueryParameters,
  reading: Reading,
): void => {
  const kind = field.desc.fieldKind;
  if (kind === "map") {
    // A map holds every parameter of the query.
    set(message, field, Object.fromEntries(query.all.map(({ name: key, value }) => [key, value])));
    return;
  }
  if (kind === "list") {
    set(message, field, valuesFromTexts(field, query.getAll(name), reading));
    return;
  }
  const text = query.get(name);
  if (text !== undefined) set(message, field, valueFromText(field, text, reading.spelling.member(field), reading));
};

const bindHeader = (
  message: Message,
  field: FieldContract,
  name: string,
  headers: BoundHeaders,
  reading: Reading,
): void => {
  const text = headers.get(name);
  if (text === undefined) return;
  if (field.desc.fieldKind === "list") {
    const texts = text.split(",").map((part) => part.trim());
    set(message, field, valuesFromTexts(field, texts, reading));
    return;
  }
  const value = field.isMediaTypeJson ? Buffer.from(text, "base64").toString("utf8") : text;
  set(message, field, valueFromText(field, value, reading.spelling.member(field), reading));
};

const valuesFromTexts = (field: FieldContract, texts: readonly string[], reading: Reading): unknown[] =>
  texts
    .map((text, index) => valueFromText(field, text, `${reading.spelling.member(field)}[${index}]`, reading))
    .filter((value) => value !== undefined);

const set = (message: Message, field: FieldContract, value: unknown): void => {
  if (value !== undefined) setField(message, field.desc, value);
};

const readPayload = (field: FieldContract, body: Buffer, codec: Codec, reading: Reading): unknown => {
  if (field.desc.fieldKind === "message") return codec.readPayload(field, body, reading);
  if (body.length === 0) return undefined;
  return field.desc.scalar === ScalarType.STRING ? body.toString("utf8") : body;
};
