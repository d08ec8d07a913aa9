import type { Message } from "@bufbuild/protobuf";

import { TimestampFormat } from "../../gen/quartet/traits/v1/binding_pb.ts";
import type { FieldContract, MethodContract } from "../../services/kit/contract/contract.ts";
import type { Codec, Document } from "../codecs/codec.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import { getField, isUnset } from "../values/scalars.ts";
import { valueToText } from "../values/writing.ts";

/** The head of an answer. */
export interface ResponseHead {
  readonly status: number;
  /** By lower-case name; values have one character for each byte. */
  readonly headers: Record<string, string>;
}

/** Reads the status and the headers of an answer from its message. */
export const responseHead = (method: MethodContract, message: Message, spelling: DialectSpelling): ResponseHead => {
  let status = method.http?.status ?? 200;
  const headers: Record<string, string> = {};
  for (const field of headFields(method)) {
    const value = getField(message, field.desc);
    if (value === undefined) continue;
    const { location } = field;
    if (location.kind === "statusCode") status = value === 0 ? status : (value as number);
    else if (location.kind === "prefixHeaders")
      for (const [name, text] of Object.entries(value as Record<string, string>))
        headers[spelling.header(location.prefix) + name] = encodeHeader(text);
    else if (location.kind === "header") {
      const text = headerText(field, value, spelling);
      if (text !== undefined) headers[spelling.header(location.name)] = encodeHeader(text);
    }
  }
  return { status, headers };
};

const knownHeadFields = new WeakMap<MethodContract, readonly FieldContract[]>();

/** The fields of a method's answer that are in its head. */
const headFields = (method: MethodContract): readonly FieldContract[] => {
  let fields = knownHeadFields.get(method);
  if (fields === undefined) {
    fields = method.output.fields.filter(({ location: { kind } }) => headKinds.has(kind));
    knownHeadFields.set(method, fields);
  }
  return fields;
};

const headKinds: ReadonlySet<string> = new Set(["statusCode", "prefixHeaders", "header"]);

/** Writes the document of an answer that is not streamed; undefined if it has none. */
export const responseDocument = (
  method: MethodContract,
  message: Message,
  codec: Codec,
  spelling: DialectSpelling,
  requestId: string,
): Document | undefined => {
  const { payload } = method.output;
  if (payload === undefined) return codec.writeMembers(message, method.desc.output, spelling, requestId);
  const value = getField(message, payload.desc);
  if (value === undefined) return undefined;
  if (payload.desc.fieldKind === "message") return codec.writePayload(payload, value as Message, spelling);
  const isText = typeof value === "string";
  return {
    contentType: isText ? "text/plain; charset=utf-8" : "application/octet-stream",
    body: isText ? Buffer.from(value) : Buffer.from(value as Uint8Array),
  };
};

const headerText = (field: FieldContract, value: unknown, spelling: DialectSpelling): string | undefined => {
  if (field.desc.fieldKind === "list") {
    const texts = (value as unknown[]).map((item) => valueToText(field, item, TimestampFormat.HTTP_DATE, spelling));
    return texts.length === 0 ? undefined : texts.join(",");
  }
  if (isUnset(field.desc, value)) return undefined;
  const text = valueToText(field, value, TimestampFormat.HTTP_DATE, spelling);
  return text !== undefined && field.isMediaTypeJson ? Buffer.from(text).toString("base64") : text;
};

/** A header value in UTF-8, one character for each byte; control characters, which headers forbid, become spaces. */
export const encodeHeader = (text: string): string =>
  /[^\x20-\x7e]/.test(text) ? Buffer.from(text.replaceAll(/\p{Cc}/gu, " "), "utf8").toString("latin1") : text;
