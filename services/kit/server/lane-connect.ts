import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";

import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, endStreamToJson, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";

import { admissionHeaders } from "../wire/admission.ts";
import { endStreamFlag, frameParts } from "../wire/frame-parser.ts";
import { acceptsGzip, decompress, isGzipEncoded } from "../wire/gzip.ts";
import { settlesAtOnce } from "../wire/settles-at-once.ts";
import { parseConnectTimeout } from "../wire/timeouts.ts";
import type { Call } from "./call.ts";
import type { Dispatcher } from "./dispatch.ts";
import { lingerOver } from "./linger.ts";
import { bodyFrames, decodeMessage, messagesOf, readWholeBody } from "./request-body.ts";
import { drained, frameOf, gzipped, writeParts } from "./response-body.ts";
import type { Route } from "./route.ts";
import { Turn } from "./turn.ts";

/** The content types of this lane. */
export const unaryContentType = "application/proto";
export const streamContentType = "application/connect+proto";

const readTimeout = (headers: IncomingHttpHeaders): number | undefined =>
  parseConnectTimeout(headers["connect-timeout-ms"] as string | undefined);

const jsonOptions = {};
const plainEnd = Buffer.from("{}");

/** Serves one call with one request and one answer in the Connect protocol over HTTP/1.1. */
export const serveConnectUnary = async (
  dispatcher: Dispatcher,
  route: Route,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const { headers } = request;
  const call = dispatcher.open(route, headers, readTimeout);
  const fail = (thrown: unknown): void => {
    if (call.isClosed) return;
    const error = dispatcher.refuse(call, thrown);
    if (!response.destroyed) {
      const body = errorToJsonBytes(error, jsonOptions);
      const lines = unaryHeaders(call, "application/json", body.length);
      pushHeaders(lines, error.metadata, "");
      response.writeHead(codeToHttpStatus(error.code), lines);
      response.end(body);
      lingerOver(request, dispatcher.limits);
    }
    dispatcher.close(call, error);
  };
  call.whenAborted(fail);
  response.on("close", () => dispatcher.abandon(call));
  try {
    await dispatcher.admit(call, headers);
    const isGzip = isGzipEncoded(headers["content-encoding"]);
    const limit = dispatcher.limits.unaryMessageBytesMax;
    const declared = headers["content-length"];
    call.awaitsSinceMs = performance.now();
    const body = await readWholeBody(request, declared === undefined ? undefined : Number(declared), limit, call);
    call.awaitsSinceMs = undefined;
    const bytes = isGzip ? await decompress(body, limit) : body;
    const answer = await dispatcher.unary(call, decodeMessage(route.input, bytes));
    if (call.isClosed) return;
    const encoded = route.output.encode(answer);
    const small = acceptsGzip(headers["accept-encoding"]) ? await gzipped(encoded) : undefined;
    if (call.isClosed) return;
    const lines = unaryHeaders(call, unaryContentType, small?.length ?? encoded.byteLength);
    if (small !== undefined) lines.push("content-encoding", "gzip");
    response.writeHead(200, lines);
    if (small !== undefined) response.end(small);
    else if (encoded.byteLength <= inlineBytesMax) response.end(latin1(encoded.parts), "latin1");
    else if (encoded.parts.length === 1) response.end(encoded.parts[0]);
    else {
      writeParts(response, encoded.parts);
      response.end();
    }
    dispatcher.close(call);
  } catch (thrown) {
    fail(thrown);
  }
};

/** Serves one call of any kind of stream in the Connect protocol over HTTP/1.1. */
export const serveConnectStream = async (
  dispatcher: Dispatcher,
  route: Route,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const { headers } = request;
  const call = dispatcher.open(route, headers, readTimeout);
  const isGzipWanted = acceptsGzip(headers["connect-accept-encoding"] as string | undefined);
  const begin = (length?: number, isAdmission = false): void => {
    if (response.headersSent) return;
    const lines = ["content-type", streamContentType, "x-request-id", call.requestId];
    if (isAdmission) lines.push(admissionHeaders.announced, "1");
    if (length !== undefined) lines.push("content-length", String(length));
    if (isGzipWanted) lines.push("connect-content-encoding", "gzip");
    pushHeaders(lines, call.givenResponseHeader, "");
    response.writeHead(200, lines);
  };
  /** `only`: the one message of the answer, of which nothing was sent yet. */
  const finish = (error?: ConnectError, only: readonly Uint8Array[] = []): void => {
    if (call.isClosed) return;
    if (!response.destroyed) {
      const end = endOf(call, error);
      const parts = [...only, ...frameParts(endStreamFlag, [end], end.length)];
      if (response.headersSent) response.end(parts[0]);
      else {
        const bytes = Buffer.concat(parts);
        begin(bytes.length);
        if (bytes.length <= joinedBytesMax) response.end(bytes.toString("latin1"), "latin1");
        else response.end(bytes);
      }
      lingerOver(request, dispatcher.limits);
    }
    dispatcher.close(call, error);
  };
  const fail = (thrown: unknown): void => {
    if (!call.isClosed) finish(dispatcher.refuse(call, thrown));
  };
  call.whenAborted(fail);
  response.on("close", () => dispatcher.abandon(call));
  try {
    await dispatcher.admit(call, headers);
    const isGzip = isGzipEncoded(headers["connect-content-encoding"] as string | undefined);
    const limitBytes = dispatcher.limits.streamMessageBytesMax;
    const decoding = { codec: route.input, isGzip, limitBytes };
    const received = messagesOf(bodyFrames(request, limitBytes, call), decoding, call);
    const isAsked = headers[admissionHeaders.asked] !== undefined && route.method.methodKind === "client_streaming";
    const announce = (): void => {
      begin(undefined, true);
      response.flushHeaders();
    };
    const answers = dispatcher.stream(call, isAsked ? announcing(received, announce) : received);
    const turn = new Turn();
    let asked: Promise<IteratorResult<Message>> | undefined;
    try {
      for (;;) {
        const next = await (asked ?? answers.next());
        asked = undefined;
        if (next.done === true) break;
        if (call.isClosed) return;
        const parts = await frameOf(route.output.encode(next.value), isGzipWanted);
        if (call.isClosed) return;
        if (!response.headersSent && bytesOf(parts) <= onlyBytesMax) {
          asked = answers.next();
          if (await settlesAtOnce(asked, ({ done }) => done === true)) return finish(undefined, parts);
          if (call.isClosed) return;
        }
        begin();
        if (!writeParts(response, parts)) await drained(response);
        if (turn.isOver) await turn.next();
        if (call.isClosed) return;
      }
      finish();
    } finally {
      void answers.return(undefined).catch(() => {});
    }
  } catch (thrown) {
    fail(thrown);
  }
};

/** Announces that the call was admitted when its second message is asked for. */
const announcing = (requests: AsyncIterator<Message>, announce: () => void): AsyncIterator<Message> => {
  let taken = 0;
  return {
    next: () => {
      taken += 1;
      if (taken === 2) announce();
      return requests.next();
    },
    return: async () => (await requests.return?.()) ?? { done: true, value: undefined },
  };
};

/** Up to this size a message that may be the only one of its answer waits a moment, to be sent with its end. */
const onlyBytesMax = 128 * 1024;

const bytesOf = (parts: readonly Uint8Array[]): number => parts.reduce((sum, part) => sum + part.length, 0);

/** Up to this size a body with several parts is sent in one string with its headers. */
const joinedBytesMax = 16 * 1024;

/** Up to this size a body is sent in one string with its headers, which is cheaper than two buffers. */
const inlineBytesMax = 2 * 1024;

const latin1 = ([only]: readonly Uint8Array[]): string =>
  only === undefined ? "" : Buffer.from(only.buffer, only.byteOffset, only.byteLength).toString("latin1");

/** Trailers of a unary answer are headers with a prefix. */
const unaryHeaders = (call: Call, contentType: string, length: number): string[] => {
  const lines = ["content-type", contentType, "content-length", String(length), "x-request-id", call.requestId];
  pushHeaders(lines, call.givenResponseHeader, "");
  pushHeaders(lines, call.givenResponseTrailer, "trailer-");
  return lines;
};

const pushHeaders = (lines: string[], given: Headers | undefined, prefix: string): void => {
  given?.forEach((value, name) => lines.push(prefix + name, value));
};

const endOf = (call: Call, error: ConnectError | undefined): Uint8Array => {
  if (error === undefined && call.givenResponseTrailer === undefined) return plainEnd;
  return Buffer.from(JSON.stringify(endStreamToJson(call.responseTrailer, error, jsonOptions)));
};
