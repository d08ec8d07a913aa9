import type { DescService, Message } from "@bufbuild/protobuf";

import { TimestampFormat } from "../../../gen/quartet/traits/v1/binding_pb.ts";
import { Protocol } from "../../../gen/quartet/traits/v1/api_pb.ts";
import { encodeHeader } from "../../../gateway/bindings/bind-response.ts";
import { getField, isUnset } from "../../../gateway/values/scalars.ts";
import { valueToText } from "../../../gateway/values/writing.ts";
import type { Codec } from "../../../gateway/codecs/codec.ts";
import * as restJson from "../../../gateway/codecs/rest-json.ts";
import * as restXml from "../../../gateway/codecs/rest-xml.ts";
import * as targetJson from "../../../gateway/codecs/target-json.ts";
import type { DialectSpelling } from "../../../gateway/dialects/dialect.ts";
import type { FieldContract, MethodContract } from "../../../services/kit/contract/contract.ts";
import { methodContract, serviceApi } from "../../../services/kit/contract/contract.ts";
import type { Learned } from "./message-grammar.ts";
import { randomMessage } from "./message-grammar.ts";
import type { Random } from "./random.ts";

/** A request before it is signed and framed. */
export interface Draft {
  readonly api: string;
  readonly protocol: Protocol;
  readonly operation: string;
  readonly spelling: DialectSpelling;
  method: string;
  /** Percent-encoded. */
  path: string;
  query: [string, string][];
  headers: Record<string, string>;
  body: Buffer;
  /** Whether the body is an object's content, which may travel in chunks. */
  isContent: boolean;
}

const codecs: Readonly<Partial<Record<Protocol, Codec>>> = {
  [Protocol.REST_JSON]: restJson,
  [Protocol.TARGET_JSON]: targetJson,
  [Protocol.REST_XML]: restXml,
};

/** A request of an operation, as a client of the dialect would write it. */
export const draftRequest = (
  service: DescService,
  operation: string,
  spelling: DialectSpelling,
  random: Random,
  learned: Learned,
): Draft => {
  const { name: api, protocol, targetPrefix } = serviceApi(service);
  const method = methodContract(service.methods.find((each) => each.name === operation)!);
  const message = randomMessage(method.desc.input, random, learned);
  const codec = codecs[protocol]!;
  const draft: Draft = {
    api,
    protocol,
    operation,
    spelling,
    method: method.http?.method ?? "POST",
    path: method.http === undefined ? "/" : pathOf(method, message, spelling),
    query: (method.http?.template.query ?? []).map(({ name, value = "" }) => [name, value]),
    headers: {},
    body: Buffer.alloc(0),
    isContent: method.desc.methodKind === "client_streaming",
  };
  for (const name of method.http?.requiredQuery ?? []) draft.query.push([name, "1"]);
  if (method.http === undefined) {
    const prefix = spelling.dialect.targetPrefixes[api] ?? targetPrefix;
    draft.headers[spelling.dialect.targetHeader] = `${prefix}.${operation}`;
    draft.headers["content-type"] = spelling.dialect.targetContentType;
  }
  for (const field of method.input.fields) placeField(draft, field, message);
  const { payload } = method.input;
  if (draft.isContent) draft.body = Buffer.from(random.one(["", "meow", "x".repeat(9_000), "y".repeat(100_000)]));
  else if (payload === undefined)
    draft.body = codec.writeMembers(message, method.desc.input, spelling, "request-1")?.body ?? draft.body;
  else if (payload.desc.fieldKind === "message") {
    const value = getField(message, payload.desc) as Message | undefined;
    if (value !== undefined) draft.body = codec.writePayload(payload, value, spelling).body;
  } else if (getField(message, payload.desc) !== undefined)
    draft.body = Buffer.from(getField(message, payload.desc) as string);
  return draft;
};

/** An upload by a browser's form, which nobody signed well. */
export const draftForm = (spelling: DialectSpelling, random: Random): Draft => {
  const prefix = spelling.dialect.signature.headerPrefix;
  const fields = [
    ["key", random.one(["a/${filename}", "cat.jpg", ""])],
    ["acl", "private"],
    [
      "policy",
      Buffer.from('{"expiration":"2030-01-01T00:00:00Z","conditions":[["eq","$key","a"]]}').toString("base64"),
    ],
    [`${prefix}algorithm`, spelling.dialect.signature.algorithm],
    [`${prefix}credential`, `a/20260101/us-east-1/s3/${spelling.dialect.signature.terminator}`],
    [`${prefix}date`, "20260101T000000Z"],
    [`${prefix}signature`, "0".repeat(64)],
    ["success_action_status", "201"],
  ].filter(() => random.chance(85));
  const parts = fields.map(
    ([name, value]) => `--fuzz\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const file = '--fuzz\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nmeow\r\n--fuzz--\r\n';
  return {
    api: "object-storage",
    protocol: Protocol.REST_XML,
    operation: "a form",
    spelling,
    method: "POST",
    path: "/fuzz-photos",
    query: [],
    headers: { "content-type": "multipart/form-data; boundary=fuzz" },
    body: Buffer.from(parts.join("") + file),
    isContent: false,
  };
};

const pathOf = (method: MethodContract, message: Message, spelling: DialectSpelling): string =>
  "/" +
  method
    .http!.template.segments.map((segment) => {
      if (segment.kind === "literal") return segment.text;
      const field = method.input.fields.find((each) => each.wireName === segment.name)!;
      const text = textOf(field, getField(message, field.desc), spelling) ?? "";
      const encoded = encodeURIComponent(text).replaceAll("'", "%27").replaceAll("(", "%28").replaceAll(")", "%29");
      return segment.kind === "greedy" ? encoded.replaceAll("%2F", "/") : encoded;
    })
    .join("/");

const textOf = (field: FieldContract, value: unknown, spelling: DialectSpelling): string | undefined =>
  isUnset(field.desc, value) ? undefined : valueToText(field, value, TimestampFormat.HTTP_DATE, spelling);

const placeField = (draft: Draft, field: FieldContract, message: Message): void => {
  const { location, desc } = field;
  const { spelling } = draft;
  const value = getField(message, desc);
  if (value === undefined) return;
  const values = desc.fieldKind === "list" ? (value as unknown[]) : [value];
  if (location.kind === "query") {
    if (desc.fieldKind === "map") draft.query.push(...Object.entries(value as Record<string, string>));
    else
      for (const each of values) {
        const text = valueText(field, each, spelling);
        if (text !== undefined) draft.query.push([location.name, text]);
      }
  } else if (location.kind === "header" && location.name !== "content-length") {
    const texts = values.map((each) => valueText(field, each, spelling)).filter((text) => text !== undefined);
    if (texts.length > 0 && texts[0] !== "")
      draft.headers[spelling.header(location.name)] = headerText(texts.join(","));
  } else if (location.kind === "prefixHeaders")
    for (const [name, text] of Object.entries(value as Record<string, string>))
      draft.headers[spelling.header(location.prefix) + name] = headerText(text);
};

const valueText = (field: FieldContract, value: unknown, spelling: DialectSpelling): string | undefined =>
  valueToText(field, value, TimestampFormat.HTTP_DATE, spelling);

const headerText = (text: string): string => encodeHeader(text).trim();
