/**
 * Uploads by a browser's form: `POST /{Bucket}` with `multipart/form-data`. A form stands for the request that would
 * store the same object: its `key` for the path, its other fields for the headers, its file for the body. So the method
 * is found by its route, bound and called like that of any other request; only reading, authentication and the answer
 * have stages of their own.
 */
import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import type { MethodContract } from "../../services/kit/contract/contract.ts";
import type { Caller } from "../../services/kit/identity/caller.ts";
import { bindRequestLine, streamsBody } from "../bindings/bind-request.ts";
import { responseHead } from "../bindings/bind-response.ts";
import { boundHeaders } from "../bindings/request-headers.ts";
import { writeXmlText, xmlDeclaration } from "../codecs/xml-writer.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import { boundaryOf } from "../forms/multipart-reader.ts";
import { taggingHeader } from "../forms/form-tagging.ts";
import { readForm } from "../forms/read-form.ts";
import type { Gateway } from "../gateway.ts";
import { decodePercent } from "../http/percent.ts";
import { parseQuery } from "../http/query.ts";
import type { RequestHead } from "../http/request-head.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import { verifyForm } from "../signature/verify-form.ts";
import { versionTwoFields } from "../signature/version-two.ts";
import type { Reading } from "../values/reading.ts";
import { noteUse, signatureRules, withOrigin } from "./authenticate.ts";
import { matchRoute, methodNotAllowed, streamedCall } from "./bind.ts";
import type { HttpExchange } from "./exchange.ts";
import { requestUrl } from "./exchange.ts";
import { idHeaders, sendAnswer } from "./render.ts";
import type { Answer, BoundCall, Identity } from "./stages.ts";

/** A form that was read up to its file. */
export interface FormUpload {
  /** In the dialect of the form's fields. */
  readonly identity: Identity;
  /** By lower-case name, with the bucket of the path among them. */
  readonly fields: ReadonlyMap<string, string>;
  readonly fileName: string;
  readonly file: AsyncIterable<Uint8Array>;
}

/** A form whose policy allows it. */
export interface AuthenticatedForm {
  readonly caller: Caller;
  /** With the file's name filled into the key. */
  readonly fields: ReadonlyMap<string, string>;
  /** Throws ENTITY_TOO_LARGE and ENTITY_TOO_SMALL if its size is not what the policy allows. */
  readonly file: AsyncIterable<Uint8Array>;
}

const enclosureType = "Bucket POST must be of the enclosure-type multipart/form-data";

/** Whether a request is an upload by a form: a POST to a bucket without a query. */
export const isFormUpload = (head: RequestHead, identity: Identity): boolean =>
  head.method === "POST" &&
  head.query.raw === "" &&
  identity.binding.api.protocol === Protocol.REST_XML &&
  /^\/[^/]+\/?$/.test(identity.path) &&
  !identity.binding.routes.isFixedPath({ method: head.method, path: identity.path, hasHeader: () => false });

/** Reads a form up to its file. Forms have no headers of a dialect, but the fields of their signature show it. */
export const identifyForm = async (
  gateway: Gateway,
  exchange: HttpExchange,
  head: RequestHead,
  identity: Identity,
): Promise<FormUpload> => {
  const boundary = boundaryOf(head.headers["content-type"]);
  if (boundary === undefined) throw refusal(ErrorReason.NOT_A_FORM, { condition: enclosureType });
  const pieces = exchange.body.pieces();
  pieces.limitTime(gateway.limits.bodyTimeoutMs);
  const { fields, fileName, file } = await readForm(pieces, boundary);
  pieces.limitTime(undefined);
  const bucket = decodePercent(identity.path.replaceAll("/", ""));
  return {
    identity: { ...identity, spelling: spellingOfFields(gateway, fields) ?? identity.spelling },
    fields: new Map([...fields, ["bucket", bucket]]),
    fileName,
    file,
  };
};

/** Verifies the signature and the policy of a form; one without a policy is anonymous. */
export const authenticateForm = (gateway: Gateway, exchange: HttpExchange, form: FormUpload): AuthenticatedForm => {
  const { dialect } = form.identity.spelling;
  const key = filledKey(form.fields.get("key"), form.fileName);
  if (key === undefined || key === "")
    throw refusal(ErrorReason.FORM_WITHOUT_KEY, { argument_name: "key", argument_value: "" });
  const fields = new Map([...form.fields, ["key", key]]);
  const { caller, signature, bytesMin, bytesMax } = verifyForm({
    ...signatureRules(gateway, dialect, form.identity.binding.api.name),
    fields,
  });
  noteUse(gateway, caller, form.identity);
  const origin = { ...withOrigin(caller, exchange, signature), isForm: true } as const;
  return { caller: origin, fields, file: boundedFile(form.file, bytesMin, bytesMax) };
};

/** No key is as long; a longer one stays so, whatever it was to be filled with. */
const filledLengthMax = 2_048;

/**
 * The key with the file's name in the place of `${filename}`. A form has room for thousands of these, so that a key
 * that is too long already is filled no further.
 */
const filledKey = (key: string | undefined, fileName: string): string | undefined => {
  if (key === undefined) return undefined;
  const [first = "", ...others] = key.split("${filename}");
  let filled = first;
  for (const part of others) {
    if (filled.length > filledLengthMax) break;
    filled += fileName + part;
  }
  return filled;
};

/** Binds a form as the PUT of its object. */
export const bindForm = ({ binding, spelling }: Identity, { fields, file }: AuthenticatedForm): BoundCall => {
  const query = parseQuery("");
  const reading: Reading = { spelling, violations: [] };
  const named = headersOf(fields, reading);
  const headers = boundHeaders(
    { headers: named, rawHeaders: Object.entries(named).flat(), query },
    spelling,
    new Map(),
  );
  const hasHeader = (name: string): boolean => headers.get(name) !== undefined;
  const path = [fields.get("bucket"), fields.get("key")].map((part) => encodeURIComponent(part ?? "")).join("/");
  const question = { method: "PUT", path: `/${path}`, query, hasHeader };
  const { method, labels } = matchRoute(binding, question);
  if (!streamsBody(method)) throw methodNotAllowed(question);

  refuseUnknownFields(method, fields, spelling);
  const message = bindRequestLine(method, { labels, query, headers }, reading);
  const body = { trailers: new Map<string, string>(), [Symbol.asyncIterator]: () => file[Symbol.asyncIterator]() };
  return streamedCall(binding, method, message, () => body, { sizeBytes: undefined, hasTrailers: false }, reading);
};

/** Answers a form as its fields request: a redirect, or the status 200, 201 or 204, which is the default. */
export const renderForm = async (
  gateway: Gateway,
  exchange: HttpExchange,
  { identity }: FormUpload,
  { fields }: AuthenticatedForm,
  bound: BoundCall,
  outcome: Promise<Answer>,
): Promise<void> => {
  const { message } = await outcome;
  const stored = responseHead(bound.method, message, identity.spelling).headers;
  const headers = { ...idHeaders(gateway, exchange, identity), ...stored };
  const [bucket = "", key = "", etag = ""] = [fields.get("bucket"), fields.get("key"), stored["etag"]];
  const redirect = redirectTarget(fields, { bucket, key, etag });
  if (redirect !== undefined) {
    sendAnswer(exchange, { status: 303, headers: { ...headers, location: redirect } });
    return;
  }
  const location = `${requestUrl(exchange).replace(/\/$/, "")}/${encodeURIComponent(key)}`;
  const requested = fields.get("success_action_status");
  const status = requested === "200" || requested === "201" ? Number(requested) : 204;
  const members = { Location: location, Bucket: bucket, Key: key, ETag: etag };
  const content = Object.entries(members).map(([name, value]) => writeXmlText(name, value));
  const document = `${xmlDeclaration}<PostResponse>${content.join("")}</PostResponse>`;
  const type: Record<string, string> = status === 201 ? { "content-type": "application/xml" } : {};
  const body = status === 201 ? Buffer.from(document) : undefined;
  sendAnswer(exchange, { status, headers: { ...type, ...headers, location } }, body);
};

const spellingOfFields = (gateway: Gateway, fields: ReadonlyMap<string, string>): DialectSpelling | undefined =>
  gateway.dialects.all.find(({ dialect: { signature } }) =>
    [...fields.keys()].some(
      (name) => name.startsWith(signature.headerPrefix) || name === versionTwoFields(signature)[0],
    ),
  );

/** The fields of a dialect that no method reads, because the form itself does. */
const formFields = [
  "algorithm",
  "checksum-algorithm",
  "credential",
  "date",
  "region-set",
  "security-token",
  "signature",
];

/** Refuses a field with the prefix of the dialect's headers that would be ignored. */
const refuseUnknownFields = (
  method: MethodContract,
  fields: ReadonlyMap<string, string>,
  spelling: DialectSpelling,
): void => {
  const { headerPrefix } = spelling.dialect.signature;
  const locations = method.input.fields.map(({ location }) => location);
  for (const name of fields.keys()) {
    if (!name.startsWith(headerPrefix) || formFields.includes(name.slice(headerPrefix.length))) continue;
    const isRead = locations.some(
      (location) =>
        (location.kind === "header" && spelling.header(location.name) === name) ||
        (location.kind === "prefixHeaders" && name.startsWith(spelling.header(location.prefix))),
    );
    if (!isRead) throw refusal(ErrorReason.FORM_FIELD_NOT_OFFERED, { field: name });
  }
};

/**
 * Fields as headers, one character for each byte as in Node.js. The ACL has a short name in forms, the algorithm of the
 * checksum that of requests without a body, and tags are a document.
 */
const headersOf = (fields: ReadonlyMap<string, string>, reading: Reading): Record<string, string> => {
  const { spelling } = reading;
  const named = [...fields].filter(([name]) => name !== "key" && name !== "bucket" && name !== "policy");
  return Object.fromEntries(
    named.map(([name, value]) => {
      if (name === "tagging") return [spelling.header("x-svc-tagging"), taggingHeader(value, reading)];
      return [headerOf(name, spelling), Buffer.from(value, "utf8").toString("latin1")];
    }),
  );
};

const headerOf = (field: string, spelling: DialectSpelling): string => {
  if (field === "acl") return spelling.header("x-svc-acl");
  if (field === spelling.header("x-svc-checksum-algorithm")) return spelling.header("x-svc-sdk-checksum-algorithm");
  return field;
};

/**
 * The file; it is refused as soon as it is too large, with the size of what has arrived, and at its end if it is too
 * small.
 */
async function* boundedFile(
  file: AsyncIterable<Uint8Array>,
  bytesMin: number,
  bytesMax: number,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of file) {
    size += piece.length;
    if (size > bytesMax)
      throw refusal(ErrorReason.ENTITY_TOO_LARGE, { proposed_size: String(size), max_size_allowed: String(bytesMax) });
    yield piece;
  }
  if (size < bytesMin)
    throw refusal(ErrorReason.ENTITY_TOO_SMALL, { proposed_size: String(size), min_size_allowed: String(bytesMin) });
}

/** The address that the browser is redirected to; undefined if the form names none, or one that is not HTTP. */
const redirectTarget = (
  fields: ReadonlyMap<string, string>,
  stored: Readonly<Record<string, string>>,
): string | undefined => {
  const requested = fields.get("success_action_redirect") ?? fields.get("redirect");
  if (requested === undefined || !URL.canParse(requested)) return undefined;
  const url = new URL(requested);
  if (url.protocol !== "http:" && url.protocol !== "https:") return undefined;
  for (const [name, value] of Object.entries(stored)) url.searchParams.append(name, value);
  return url.href;
};
