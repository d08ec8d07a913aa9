import { isUtf8 } from "node:buffer";

import type { RawHeaders } from "./forwarded-headers.ts";
import { parseSourcePath, pathParameters, segmentText } from "../domain/source-path.ts";
import { hasMoreJsonValues } from "../../kit/json/json-values.ts";
import { parseJson } from "../../kit/json/parse-json.ts";

/** The facts about a request that become the proxy event of format 1.0. */
export interface FunctionRequest {
  readonly accountId: string;
  readonly apiGatewayId: string;
  readonly stageName: string;
  readonly requestId: string;
  /** When the request was received, in milliseconds since the epoch. */
  readonly timeMs: number;
  readonly method: string;
  /** Segments after the stage, decoded to bytes. */
  readonly segments: readonly string[];
  readonly endsWithSlash: boolean;
  /** With its `?`, or empty. */
  readonly query: string;
  readonly headers: RawHeaders;
  readonly sourceIp: string;
  /** `HTTP/1.1` */
  readonly protocol: string;
  /** Undefined for the default route. */
  readonly sourcePath: string | undefined;
  readonly routeId: string;
  readonly body: Buffer;
}

/** A function's answer, ready to be sent. */
export interface FunctionAnswer {
  readonly status: number;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** The function's answer cannot be sent to a client. */
export class MalformedAnswerError extends Error {
  override readonly name = "MalformedAnswerError";
}

/** Bodies of these media types are passed as text; all others as base64. */
const textTypes = /^(?:text\/|application\/(?:[\w.+-]*\+)?(?:json|xml|javascript|x-www-form-urlencoded)\b)/i;

/** What an event may have of a body: as much as of the longest body of bytes that is no text. */
const bodyBytesInEventMax = 8 * 1024 * 1024;

/** The event as JSON; undefined if the body is too long in it. */
export const functionEvent = (request: FunctionRequest): string | undefined => {
  const headers = groupHeaders(request.headers);
  const isText = isTextBody(headers, request.body);
  if (bytesInEvent(request.body, isText) > bodyBytesInEventMax) return undefined;
  const query = groupQuery(request.query);
  const path = `/${segmentText(request.segments.join("/"))}${request.endsWithSlash && request.segments.length > 0 ? "/" : ""}`;
  const resource = resourceOf(request);
  return JSON.stringify({
    version: "1.0",
    resource,
    path,
    httpMethod: request.method,
    headers: lastOf(headers),
    multiValueHeaders: Object.fromEntries(headers),
    queryStringParameters: query.size === 0 ? null : lastOf(query),
    multiValueQueryStringParameters: query.size === 0 ? null : Object.fromEntries(query),
    pathParameters: pathParametersOf(request),
    stageVariables: null,
    requestContext: {
      accountId: request.accountId,
      apiId: request.apiGatewayId,
      resourceId: request.routeId,
      resourcePath: resource,
      httpMethod: request.method,
      path: `/${request.stageName}${path}`,
      stage: request.stageName,
      requestId: request.requestId,
      requestTime: commonLogTime(request.timeMs),
      requestTimeEpoch: request.timeMs,
      protocol: request.protocol,
      identity: {
        sourceIp: request.sourceIp,
        userAgent: headers.get("User-Agent")?.[0] ?? headers.get("user-agent")?.[0] ?? null,
      },
    },
    body: request.body.length === 0 ? null : request.body.toString(isText ? "utf8" : "base64"),
    isBase64Encoded: request.body.length > 0 && !isText,
  });
};

/** Values of an answer, which has one for each member and header. */
const answerValuesMax = 10_000;

/** Bytes of an answer's header, as of the answers of services. */
const headerBytesMax = 64 * 1024;

/** Reads a function's answer. Throws MalformedAnswerError if it does not have the form that proxies require. */
export const readFunctionAnswer = (content: Buffer): FunctionAnswer => {
  if (hasMoreJsonValues(content, answerValuesMax)) throw new MalformedAnswerError("the answer has too many values");
  let answer: unknown;
  try {
    answer = parseJson(content.toString("utf8"));
  } catch {
    throw new MalformedAnswerError("the answer is not JSON");
  }
  if (!isObject(answer)) throw new MalformedAnswerError("the answer is not an object");
  const status = Number(answer["statusCode"]);
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new MalformedAnswerError("statusCode is not a status from 200 to 599");
  const body = answer["body"] ?? "";
  if (typeof body !== "string") throw new MalformedAnswerError("body is not a string");
  const headers = readHeaders(answer["headers"] ?? {}, answer["multiValueHeaders"] ?? {});
  if (headers.reduce((sum, { length }) => sum + length, 0) > headerBytesMax)
    throw new MalformedAnswerError("its header is too large");
  const isBase64 = answer["isBase64Encoded"] === true;
  return { status, headers, body: Buffer.from(body, isBase64 ? "base64" : "utf8") };
};

const readHeaders = (single: unknown, multiple: unknown): string[] => {
  if (!isObject(single)) throw new MalformedAnswerError("headers is not an object");
  if (!isObject(multiple)) throw new MalformedAnswerError("multiValueHeaders is not an object");
  const headers: string[] = [];
  for (const [name, values] of Object.entries(multiple)) {
    if (!Array.isArray(values)) throw new MalformedAnswerError(`multiValueHeaders.${name} is not a list`);
    for (const value of values) headers.push(name, headerText(name, value));
  }
  const seen = new Set(Object.keys(multiple).map((name) => name.toLowerCase()));
  for (const [name, value] of Object.entries(single))
    if (!seen.has(name.toLowerCase())) headers.push(name, headerText(name, value));
  return headers;
};

const headerText = (name: string, value: unknown): string => {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
    throw new MalformedAnswerError(`the value of header ${name} is not text`);
  const text = String(value);
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(text))
    throw new MalformedAnswerError(`header ${name} has a character that headers may not have`);
  return text;
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const groupHeaders = (raw: RawHeaders): Map<string, string[]> => {
  const names = new Map<string, string>();
  const groups = new Map<string, string[]>();
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string;
    const first = names.get(name.toLowerCase()) ?? name;
    names.set(name.toLowerCase(), first);
    add(groups, first, raw[index + 1] as string);
  }
  return groups;
};

const groupQuery = (query: string): Map<string, string[]> => {
  const groups = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(query)) add(groups, name, value);
  return groups;
};

const add = (groups: Map<string, string[]>, name: string, value: string): void => {
  const group = groups.get(name);
  if (group === undefined) groups.set(name, [value]);
  else group.push(value);
};

const lastOf = (groups: ReadonlyMap<string, readonly string[]>): Record<string, string> =>
  Object.fromEntries([...groups].map(([name, values]) => [name, values.at(-1) ?? ""]));

const isTextBody = (headers: ReadonlyMap<string, readonly string[]>, body: Buffer): boolean => {
  const type = [...headers].find(([name]) => name.toLowerCase() === "content-type")?.[1][0] ?? "application/json";
  const isEncoded = [...headers.keys()].some((name) => name.toLowerCase() === "content-encoding");
  return !isEncoded && textTypes.test(type) && isUtf8(body);
};

/** The bytes that a body has within an event: a character of a text may have six there. */
const bytesInEvent = (body: Buffer, isText: boolean): number => {
  if (!isText) return Math.ceil(body.length / 3) * 4;
  let bytes = 0;
  for (let at = 0; at < body.length; at += 1) bytes += escapedBytes[body[at]!]!;
  return bytes;
};

/** What JSON writes for each byte of a text. */
const escapedBytes = Uint8Array.from({ length: 256 }, (_none, byte) =>
  byte < 0x80 ? JSON.stringify(String.fromCharCode(byte)).length - 2 : 1,
);

/** The path of the proxy's tree: the source path, followed by `{proxy+}` if the request is for a child path. */
const resourceOf = (request: FunctionRequest): string => {
  const { sourcePath, segments } = request;
  const own = sourcePath ?? "";
  const ownSegments = sourcePath === undefined ? 0 : parseSourcePath(sourcePath).length;
  if (segments.length > ownSegments) return `${own}/{proxy+}`;
  return own === "" ? "/" : own;
};

const pathParametersOf = (request: FunctionRequest): Record<string, string> | null => {
  const { sourcePath, segments } = request;
  const parameters = sourcePath === undefined ? {} : pathParameters(sourcePath, segments);
  const ownSegments = sourcePath === undefined ? 0 : parseSourcePath(sourcePath).length;
  if (segments.length > ownSegments) parameters["proxy"] = segmentText(segments.slice(ownSegments).join("/"));
  return Object.keys(parameters).length === 0 ? null : parameters;
};

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** `02/Jan/2026:03:04:05 +0000` */
const commonLogTime = (timeMs: number): string => {
  const time = new Date(timeMs);
  const clock = time.toISOString().slice(11, 19);
  return `${String(time.getUTCDate()).padStart(2, "0")}/${months[time.getUTCMonth()]}/${time.getUTCFullYear()}:${clock} +0000`;
};
