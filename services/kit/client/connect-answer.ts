import type { IncomingHttpHeaders } from "node:http";

import type { DescMessage, DescMethodStreaming } from "@bufbuild/protobuf";
import type { StreamResponse } from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeFromHttpStatus, endStreamFromJson, errorFromJsonBytes } from "@connectrpc/connect/protocol-connect";

import { parseJson } from "../json/parse-json.ts";
import type { Frame } from "../wire/frame-parser.ts";
import { messageCodec } from "../wire/message-codec.ts";
import { ProtocolError } from "../wire/protocol-error.ts";
import { markUnprocessed } from "../wire/unprocessed.ts";
import type { AnswerHeaders } from "./answers.ts";
import { StreamAnswer } from "./answers.ts";
import { NotConnectedError } from "./connector.ts";

/** Headers and trailers of an answer: in the Connect protocol a trailer is a header with the prefix `trailer-`. */
export const answerHeaders = (incoming: IncomingHttpHeaders): AnswerHeaders => {
  const header = new Headers();
  const trailer = new Headers();
  for (const [name, value] of Object.entries(incoming)) {
    const isTrailer = name.length > "trailer-".length && name.startsWith("trailer-");
    const target = isTrailer ? trailer : header;
    const key = isTrailer ? name.slice("trailer-".length) : name;
    for (const one of typeof value === "string" ? [value] : (value ?? [])) target.append(key, one);
  }
  return { header, trailer };
};

/** What a streamed answer is read from. */
interface MessageSource {
  messages<T>(decode: (frame: Frame) => T, onTrailer: (metadata: Headers) => void): AsyncIterable<T>;
}

/** A streamed answer with the headers that were received. */
export const streamAnswer = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodStreaming<I, O>,
  received: IncomingHttpHeaders,
  source: MessageSource,
): StreamResponse<I, O> => {
  let known: AnswerHeaders | undefined;
  const readHeaders = (): AnswerHeaders => (known ??= answerHeaders(received));
  const messages = source.messages(messageCodec(method.output).decodeFrame, (metadata) =>
    metadata.forEach((value, name) => readHeaders().trailer.append(name, value)),
  );
  return new StreamAnswer(method, readHeaders, messages);
};

/** Bytes that are read of an error's body; one with more is told by its status alone. */
export const errorBytesMax = 64 * 1024;

/** The error of an answer with a status that is not 200; without its body the status says what it is. */
export const answerError = (status: number, headers: IncomingHttpHeaders, body?: Uint8Array): ConnectError => {
  const { header, trailer } = answerHeaders(headers);
  trailer.forEach((value, name) => header.append(name, value));
  const fallback = new ConnectError(`HTTP status ${status}`, codeFromHttpStatus(status), header);
  if (body === undefined || !String(headers["content-type"]).startsWith("application/json")) return fallback;
  try {
    return errorFromJsonBytes(body, header, fallback);
  } catch (error) {
    return error as ConnectError;
  }
};

/** The end of a stream of answers: its trailer, and the error of a call that failed. */
export interface StreamEnd {
  /** Undefined: empty. */
  readonly metadata: Headers | undefined;
  readonly error?: ConnectError | undefined;
}

/**
 * Reads the last frame of a stream. Throws ConnectError if it is malformed. No error is made for a call that succeeded.
 */
export const streamEnd = (body: Uint8Array): StreamEnd => successfulEnd(body) ?? endStreamFromJson(body);

/** Undefined: the call failed, or the frame is malformed. */
const successfulEnd = (body: Uint8Array): StreamEnd | undefined => {
  if (body.length === 2 && body[0] === openBrace && body[1] === closeBrace) return { metadata: undefined };
  const metadata = new Headers();
  const end = parsedObject(body);
  if (end === undefined || "error" in end) return undefined;
  const { metadata: members = {} } = end;
  if (!isObject(members)) return undefined;
  for (const [name, values] of Object.entries(members)) {
    if (!Array.isArray(values) || !values.every((value) => typeof value === "string")) return undefined;
    for (const value of values) metadata.append(name, value);
  }
  return { metadata };
};

const openBrace = 0x7b;
const closeBrace = 0x7d;

const parsedObject = (body: Uint8Array): Readonly<Record<string, unknown>> | undefined => {
  try {
    const parsed = parseJson(new TextDecoder().decode(body));
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An error of the wire as callers see it. An unreadable answer is the server's fault. */
export const protocolFailure = (error: unknown): ConnectError => {
  if (!(error instanceof ProtocolError)) return ConnectError.from(error);
  const code = error.code === Code.InvalidArgument ? Code.Internal : error.code;
  return new ConnectError(error.message, code);
};

/** The failure of a connection as the error of its call. */
export const connectionError = (error: unknown): ConnectError => {
  if (error instanceof ConnectError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const isNotSent = error instanceof NotConnectedError;
  if (isNotSent || (code !== undefined && unreachable.has(code))) {
    const text = `the server cannot be reached: ${message}`;
    const unreached = new ConnectError(text, Code.Unavailable, undefined, undefined, error);
    return isNotSent ? markUnprocessed(unreached) : unreached;
  }
  return new ConnectError(message, Code.Internal, undefined, undefined, error);
};

/** Failures of an established connection. */
const unreachable = new Set([
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EPIPE",
  "ETIMEDOUT",
  "UND_ERR_SOCKET",
  "UND_ERR_CLOSED",
  "UND_ERR_DESTROYED",
  "UND_ERR_INFO",
]);

/**
 * The error of an answer with status 200 and an unexpected type: another codec is the server's mistake, any other type
 * comes from a peer that does not know the protocol. Undefined if the type is as expected.
 */
export const unexpectedType = (headers: IncomingHttpHeaders, expected: string): ConnectError | undefined => {
  const type = headers["content-type"] ?? "";
  if (type === expected) return undefined;
  const family = expected.slice(0, expected.length - "proto".length);
  const code =
    type.startsWith(family) && (family.endsWith("+") || type === "application/json") ? Code.Internal : Code.Unknown;
  return new ConnectError(`the answer has the content type ${JSON.stringify(type)}`, code);
};
