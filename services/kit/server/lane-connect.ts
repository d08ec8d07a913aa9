import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";

import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, endStreamToJson, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";

import { Turn } from "../clock/turn.ts";
import { admissionHeaders } from "../wire/admission.ts";
import { bodyHeader } from "../wire/body-connection.ts";
import { drained } from "../wire/drained.ts";
import { endStreamFlag, frameParts } from "../wire/frame-parser.ts";
import { acceptsGzip, decompress, isGzipEncoded } from "../wire/gzip.ts";
import type { EncodedMessage } from "../wire/message-codec.ts";
import { settlesAtOnce } from "../wire/settles-at-once.ts";
import { parseConnectTimeout } from "../wire/timeouts.ts";
import type { BodyConnections } from "./body-connections.ts";
import type { Call } from "./call.ts";
import type { Dispatcher } from "./dispatch.ts";
import { lingerOver } from "./linger.ts";
import { bodyFrames, decodeMessage, messagesOf, readWholeBody } from "./request-body.ts";
import { frameOf, gzipped, writeParts } from "./response-body.ts";
import type { Route } from "./route.ts";

/** The content types of this lane. */
export const unaryContentType = "application/proto";
export const streamContentType = "application/connect+proto";

/** The milliseconds that a caller waits, as its headers say. Throws ProtocolError if they say it unreadably. */
export const readTimeout = (headers: IncomingHttpHeaders): number | undefined =>
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
    await dispatcher.admit(call, headers, request.socket);
    const isGzip = isGzipEncoded(headers["content-encoding"]);
    const limit = dispatcher.messageBytesMax(route);
    const declared = headers["content-length"];
    call.awaitsSinceMs = performance.now();
    const body = await readWholeBody(request, declared === undefined ? undefined : Number(declared), limit, call);
    call.awaitsSinceMs = undefined;
    const bytes = isGzip ? await decompress(body, limit) : body;
    const answer = await dispatcher.unary(call, decodeMessage(route.input, bytes));
    const encoded = route.output.encode(answer);
    const small = acceptsGzip(headers["accept-encoding"]) ? await gzipped(encoded) : undefined;
    if (call.isClosed) return;
    sendUnary(call, encoded, small, response);
    dispatcher.close(call);
  } catch (thrown) {
    fail(thrown);
  }
};

/** Sends the message of a unary answer, or its compressed form if there is one. */
const sendUnary = (call: Call, encoded: EncodedMessage, small: Buffer | undefined, response: ServerResponse): void => {
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
};

/** Serves one call of any kind of stream in the Connect protocol over HTTP/1.1. */
export const serveConnectStream = async (
  dispatcher: Dispatcher,
  bodies: BodyConnections,
  route: Route,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const { headers } = request;
  const call = dispatcher.open(route, headers, readTimeout);
  const isGzipWanted = acceptsGzip(headers["connect-accept-encoding"] as string | undefined);
  const sending = new StreamedAnswer(dispatcher, call, request, response, isGzipWanted);
  try {
    await dispatcher.admit(call, headers, request.socket);
    const isGzip = isGzipEncoded(headers["connect-content-encoding"] as string | undefined);
    const limitBytes = dispatcher.messageBytesMax(route);
    const decoding = { codec: route.input, isGzip, limitBytes };
    const own = messagesOf(bodyFrames(request, limitBytes, call), decoding, call);
    const bodyName = headers[bodyHeader];
    const received = typeof bodyName === "string" ? bodies.messages(bodyName, own, decoding, call) : own;
    const isAsked = headers[admissionHeaders.asked] !== undefined && route.method.methodKind === "client_streaming";
    const announce = (): void => sending.announceAdmission();
    await sending.send(dispatcher.stream(call, isAsked ? announcing(received, announce) : received));
  } catch (thrown) {
    sending.fail(thrown);
  }
};

/** The answer of a streaming call in the Connect protocol over HTTP/1.1. */
class StreamedAnswer {
  readonly #dispatcher: Dispatcher;
  readonly #call: Call;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #isGzipWanted: boolean;

  /** From now on the call ends when the connection closes, and is answered when it is given up. */
  constructor(
    dispatcher: Dispatcher,
    call: Call,
    request: IncomingMessage,
    response: ServerResponse,
    isGzipWanted: boolean,
  ) {
    this.#dispatcher = dispatcher;
    this.#call = call;
    this.#request = request;
    this.#response = response;
    this.#isGzipWanted = isGzipWanted;
    call.whenAborted((reason) => this.fail(reason));
    response.on("close", () => dispatcher.abandon(call));
  }

  /** Tells the caller that the call was admitted, so that it sends its body. */
  announceAdmission(): void {
    this.#begin(undefined, true);
    this.#response.flushHeaders();
  }

  /** Sends the messages and the end. Rejects with what they threw. */
  async send(answers: AsyncGenerator<Message>): Promise<void> {
    const call = this.#call;
    const response = this.#response;
    const turn = new Turn();
    let asked: Promise<IteratorResult<Message>> | undefined;
    try {
      for (;;) {
        const next = await (asked ?? answers.next());
        asked = undefined;
        if (next.done === true) break;
        const parts = await frameOf(call.route.output.encode(next.value), this.#isGzipWanted);
        if (!response.headersSent && bytesOf(parts) <= onlyBytesMax) {
          asked = answers.next();
          if (await settlesAtOnce(asked, ({ done }) => done === true)) return this.#finish(undefined, parts);
        }
        if (call.isClosed) return;
        this.#begin();
        if (!writeParts(response, parts)) await drained(response);
        if (turn.isOver) await turn.next();
      }
      this.#finish();
    } finally {
      void answers.return(undefined).catch(() => {});
    }
  }

  /** Ends the answer with a refusal. */
  fail(thrown: unknown): void {
    this.#finish(this.#dispatcher.refuse(this.#call, thrown));
  }

  #begin(length?: number, isAdmission = false): void {
    const response = this.#response;
    if (response.headersSent) return;
    const lines = ["content-type", streamContentType, "x-request-id", this.#call.requestId];
    if (isAdmission) lines.push(admissionHeaders.announced, "1");
    if (length !== undefined) lines.push("content-length", String(length));
    if (this.#isGzipWanted) lines.push("connect-content-encoding", "gzip");
    pushHeaders(lines, this.#call.givenResponseHeader, "");
    response.writeHead(200, lines);
  }

  /** `only`: the one message of the answer, of which nothing was sent yet. */
  #finish(error?: ConnectError, only: readonly Uint8Array[] = []): void {
    const response = this.#response;
    if (this.#call.isClosed) return;
    if (!response.destroyed) {
      const parts = [...only, ...streamEnd(this.#call, error)];
      if (response.headersSent) response.end(parts[0]);
      else {
        const bytes = Buffer.concat(parts);
        this.#begin(bytes.length);
        if (bytes.length <= joinedBytesMax) response.end(bytes.toString("latin1"), "latin1");
        else response.end(bytes);
      }
      lingerOver(this.#request, this.#dispatcher.limits);
    }
    this.#dispatcher.close(this.#call, error);
  }
}

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
  pushGivenHeaders(lines, call);
  return lines;
};

/** Adds the headers and trailers that the handler of a unary call has set. */
export const pushGivenHeaders = (lines: string[], call: Call): void => {
  pushHeaders(lines, call.givenResponseHeader, "");
  pushHeaders(lines, call.givenResponseTrailer, "trailer-");
};

/** Adds headers to names and values. */
export const pushHeaders = (lines: string[], given: Headers | undefined, prefix: string): void => {
  given?.forEach((value, name) => lines.push(prefix + name, value));
};

/** The last frame of a streamed answer: how the call ended. */
export const streamEnd = (call: Call, error: ConnectError | undefined): readonly Uint8Array[] => {
  const isPlain = error === undefined && call.givenResponseTrailer === undefined;
  const end = isPlain
    ? plainEnd
    : Buffer.from(JSON.stringify(endStreamToJson(call.responseTrailer, error, jsonOptions)));
  return frameParts(endStreamFlag, [end], end.length);
};
