/**
 * Uploads by a browser's form: `POST /{Bucket}` with `multipart/form-data`. The form stands for the request that would
 * store the same object: its `key` for the path, its other fields for the headers, its file for the body. So the method
 * is found, bound and called like any other, by its route; only the signature and the answer are the form's own.
 */
import type { Message } from "@bufbuild/protobuf";

import { bindRequestLine, streamsBody } from "../bindings/bind-request.ts";
import { responseHead } from "../bindings/bind-response.ts";
import type { Reading } from "../values/reading.ts";
import { boundHeaders } from "../bindings/request-headers.ts";
import { streamedBody } from "../bindings/streamed-body.ts";
import { call } from "./call.ts";
import { writeXmlText, xmlDeclaration } from "../codecs/xml-writer.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import type { HttpExchange } from "./exchange.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import type { Gateway } from "../gateway.ts";
import { sendWhole, settleUnread } from "../http/send.ts";
import { answerContext } from "./render.ts";
import type { RequestHead } from "../http/request-head.ts";
import type { BoundCall, Identity } from "./stages.ts";
import { decodePercent } from "../http/percent.ts";
import { parseQuery } from "../http/query.ts";
import { throwViolations } from "../../services/kit/validation/validate.ts";
import type { VerifiedForm } from "../signature/verify-form.ts";
import { verifyForm } from "../signature/verify-form.ts";
import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import { boundaryOf } from "../forms/multipart-reader.ts";
import { readForm } from "../forms/read-form.ts";

/** Whether a request is an upload by a form: a POST to a bucket that says nothing more in its query. */
export const isFormUpload = (head: RequestHead, identity: Identity): boolean =>
  head.method === "POST" &&
  head.query.raw === "" &&
  identity.binding.api.protocol === Protocol.REST_XML &&
  /^\/[^/]+\/?$/.test(identity.path);

/**
 * Takes an upload by a form and answers it. `onFound` is told the dialect as soon as the fields show it, and the call as
 * soon as they are bound to one.
 */
export const uploadForm = async (
  gateway: Gateway,
  exchange: HttpExchange,
  head: RequestHead,
  identity: Identity,
  onFound: (identity: Identity, bound?: BoundCall) => void,
): Promise<void> => {
  const boundary = boundaryOf(head.headers["content-type"]);
  if (boundary === undefined) throw refusal(ErrorReason.NOT_A_FORM);
  const { fields: given, fileName, file } = await readForm(exchange.body.pieces(), boundary);
  const spelling = spellingOfFields(gateway, given) ?? identity.spelling;
  onFound({ ...identity, spelling });

  const bucket = decodePercent(identity.path.replaceAll("/", ""));
  const key = given.get("key")?.replaceAll("${filename}", fileName);
  if (key === undefined || key === "") throw refusal(ErrorReason.FORM_WITHOUT_KEY);
  const fields = new Map([...given, ["bucket", bucket], ["key", key]]);
  const verified = verifyForm({
    fields,
    brand: spelling.dialect.signature,
    accessKeys: gateway.accessKeys,
    clock: gateway.clock,
    signingNames: spelling.dialect.signingNames[identity.binding.api.name] ?? [],
    region: gateway.region,
  });

  const bound = bindForm({ ...identity, spelling }, fields, boundedFile(file, verified));
  onFound({ ...identity, spelling }, bound);
  const { remoteAddress } = exchange.request.socket;
  const caller = remoteAddress === undefined ? verified.caller : { ...verified.caller, sourceIp: remoteAddress };
  const answer = await call(gateway, exchange, bound, caller, head);
  const { headers } = responseHead(bound.method, answer.message, spelling);
  settleUnread(exchange.request, exchange.response, exchange.body);
  sendFormAnswer(gateway, exchange, { ...identity, spelling }, fields, headers);
};

/** Forms have no header of a dialect, but the fields of their signature do. */
const spellingOfFields = (gateway: Gateway, fields: ReadonlyMap<string, string>): DialectSpelling | undefined =>
  gateway.dialects.all.find(({ dialect }) =>
    [...fields.keys()].some((name) => name.startsWith(dialect.signature.headerPrefix)),
  );

const bindForm = (
  identity: Identity,
  fields: ReadonlyMap<string, string>,
  file: AsyncIterable<Uint8Array>,
): BoundCall => {
  const { binding, spelling } = identity;
  const query = parseQuery("");
  const headers = boundHeaders(headersOf(fields, spelling), query, spelling, new Map());
  const path = [fields.get("bucket"), fields.get("key")].map((part) => encodeURIComponent(part ?? "")).join("/");
  const hasHeader = (name: string): boolean => headers.get(name) !== undefined;
  const match = binding.routes.find({ method: "PUT", path: `/${path}`, query, hasHeader });
  if (match === undefined || !streamsBody(match.method)) throw refusal(ErrorReason.METHOD_NOT_ALLOWED);

  const reading: Reading = { spelling, violations: [] };
  const message: Message = bindRequestLine(match.method, { labels: match.labels, query, headers }, reading);
  throwViolations(binding.faults, reading.violations);
  const body = { trailers: new Map<string, string>(), [Symbol.asyncIterator]: () => file[Symbol.asyncIterator]() };
  return { binding, method: match.method, message, more: streamedBody(match.method, body, reading) };
};

/** Fields as headers, one character for each byte as the platform gives headers. The ACL has a short name in forms. */
const headersOf = (fields: ReadonlyMap<string, string>, spelling: DialectSpelling): Record<string, string> => {
  const named = [...fields].filter(([name]) => name !== "key" && name !== "bucket" && name !== "policy");
  return Object.fromEntries(
    named.map(([name, value]) => [
      name === "acl" ? spelling.header("x-svc-acl") : name,
      Buffer.from(value, "utf8").toString("latin1"),
    ]),
  );
};

/** The file, refused as soon as it is larger than its policy allows, and at its end when it is smaller. */
async function* boundedFile(file: AsyncIterable<Uint8Array>, allowed: VerifiedForm): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of file) {
    size += piece.length;
    if (size > allowed.bytesMax) throw refusal(ErrorReason.ENTITY_TOO_LARGE);
    yield piece;
  }
  if (size < allowed.bytesMin) throw refusal(ErrorReason.ENTITY_TOO_SMALL);
}

/** What a form asks to be answered with: a redirect, or a status of 200, 201 or 204, where 204 is the default. */
const sendFormAnswer = (
  gateway: Gateway,
  exchange: HttpExchange,
  identity: Identity,
  fields: ReadonlyMap<string, string>,
  stored: Readonly<Record<string, string>>,
): void => {
  const [bucket = "", key = "", etag = ""] = [fields.get("bucket"), fields.get("key"), stored["etag"]];
  const identifying = identity.binding.codec.identityHeaders(answerContext(gateway, exchange, identity));
  const host = exchange.request.headers.host ?? "";
  const location = `http://${host}${exchange.rawPath.replace(/\/$/, "")}/${encodeURIComponent(key)}`;
  const redirect = redirectTarget(fields, { bucket, key, etag });
  if (redirect !== undefined) {
    const headers = { ...identifying, ...stored, location: redirect };
    sendWhole(exchange.response, { status: 303, headers }, undefined);
    return;
  }
  const asked = fields.get("success_action_status");
  const status = asked === "200" || asked === "201" ? Number(asked) : 204;
  const content = [
    writeXmlText("Location", location),
    writeXmlText("Bucket", bucket),
    writeXmlText("Key", key),
    writeXmlText("ETag", etag),
  ].join("");
  const body = status === 201 ? Buffer.from(`${xmlDeclaration}<PostResponse>${content}</PostResponse>`) : undefined;
  const type: Record<string, string> = body === undefined ? {} : { "content-type": "application/xml" };
  sendWhole(exchange.response, { status, headers: { ...type, ...identifying, ...stored, location } }, body);
};

/** Where the browser is sent; undefined when the form names no place, or one that is no URL. */
const redirectTarget = (
  fields: ReadonlyMap<string, string>,
  stored: Readonly<Record<string, string>>,
): string | undefined => {
  const asked = fields.get("success_action_redirect") ?? fields.get("redirect");
  if (asked === undefined || !URL.canParse(asked)) return undefined;
  const url = new URL(asked);
  if (url.protocol !== "http:" && url.protocol !== "https:") return undefined;
  for (const [name, value] of Object.entries(stored)) url.searchParams.append(name, value);
  return url.href;
};
