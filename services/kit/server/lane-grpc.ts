import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { constants } from "node:http2";

import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { Code } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";

import { Turn } from "../clock/turn.ts";
import { drained } from "../wire/drained.ts";
import { isGzipEncoded } from "../wire/gzip.ts";
import { parseGrpcTimeout } from "../wire/timeouts.ts";
import type { Call } from "./call.ts";
import type { Dispatcher } from "./dispatch.ts";
import { isGone } from "./http2-session.ts";
import { bodyFrames, decodeFrame, messagesOf, readOnlyFrame } from "./request-body.ts";
import { frameOf, writeParts } from "./response-body.ts";
import type { Route } from "./route.ts";

const contentType = "application/grpc+proto";
const statusOk: OutgoingHttpHeaders = { "grpc-status": "0" };

/** gRPC has no use for the date that HTTP answers carry. */
const answerOptions = { waitForTrailers: true, sendDate: false };
const trailersOnlyOptions = { endStream: true, sendDate: false };

const readTimeout = (headers: IncomingHttpHeaders): number | undefined =>
  parseGrpcTimeout(headers["grpc-timeout"] as string | undefined);

/** True for the content types of this lane. */
export const isGrpcContentType = (type: string | undefined): boolean =>
  type === "application/grpc" || type === "application/grpc+proto";

/** Serves one gRPC call of any kind over HTTP/2. */
export const serveGrpc = async (
  dispatcher: Dispatcher,
  route: Route,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): Promise<void> => {
  const call = dispatcher.open(route, headers, readTimeout);
  const answer = new GrpcAnswer(stream, call, dispatcher);
  const fail = (thrown: unknown): void => {
    if (!call.isClosed) answer.finish(dispatcher.refuse(call, thrown));
  };
  call.whenAborted(fail);
  stream.on("close", () => dispatcher.abandon(call));
  try {
    await dispatcher.admit(call, headers, stream.session);
    const isGzip = isGzipEncoded(headers["grpc-encoding"] as string | undefined);
    answer.isGzip = isGzip;
    const isUnary = route.method.methodKind === "unary";
    const limitBytes = dispatcher.messageBytesMax(route);
    const decoding = { codec: route.input, isGzip, limitBytes };
    if (isUnary) {
      call.awaitsSinceMs = performance.now();
      const frame = await readOnlyFrame(stream, limitBytes, call);
      call.awaitsSinceMs = undefined;
      const request = await decodeFrame(frame, decoding);
      await answer.sendOnly(await dispatcher.unary(call, request));
    } else {
      const requests = messagesOf(bodyFrames(stream, limitBytes, call), decoding, call);
      const turn = new Turn();
      for await (const message of dispatcher.stream(call, requests)) {
        await answer.send(message);
        if (turn.isOver) await turn.next();
        if (call.isClosed) return;
      }
    }
    answer.finish();
  } catch (thrown) {
    fail(thrown);
  }
};

/** Answers a gRPC request for a method that the server does not have. */
export const refuseUnknownGrpc = (stream: ServerHttp2Stream, path: string): void => {
  stream.respond(
    {
      ":status": 200,
      "content-type": contentType,
      "grpc-status": String(Code.Unimplemented),
      "grpc-message": encodeGrpcMessage(`There is no method ${path}.`),
    },
    { endStream: true },
  );
  stream.resume();
};

/** The answer of one call: headers, messages, trailers; or headers alone if it failed before the first message. */
class GrpcAnswer {
  isGzip = false;
  readonly #stream: ServerHttp2Stream;
  readonly #call: Call;
  readonly #dispatcher: Dispatcher;
  #trailers: OutgoingHttpHeaders = statusOk;
  #isTrailing = false;
  #onTrailersSent: (() => void) | undefined;

  constructor(stream: ServerHttp2Stream, call: Call, dispatcher: Dispatcher) {
    this.#stream = stream;
    this.#call = call;
    this.#dispatcher = dispatcher;
  }

  /** Resolves when the network is ready for the next message. */
  async send(message: Message): Promise<void> {
    const encoded = this.#call.route.output.encode(message);
    const parts = await frameOf(encoded, this.isGzip);
    if (this.#call.isClosed) return;
    this.#begin();
    if (!writeParts(this.#stream, parts)) await drained(this.#stream);
  }

  /** Sends the only message together with the end of the answer. */
  async sendOnly(message: Message): Promise<void> {
    const encoded = this.#call.route.output.encode(message);
    const parts = await frameOf(encoded, this.isGzip);
    const [only] = parts;
    if (this.#call.isClosed) return;
    this.#begin();
    if (parts.length > 1 || this.#call.givenResponseTrailer !== undefined) writeParts(this.#stream, parts);
    else this.#stream.end(only);
  }

  /**
   * Ends the call. A failure before the first message is sent in the headers alone, as retry policies require; headers
   * of the handler are sent before it, because clients would read them as trailers.
   */
  finish(error?: ConnectError): void {
    if (this.#call.isClosed) return;
    const stream = this.#stream;
    if (!isGone(stream)) {
      if (error !== undefined || this.#call.givenResponseTrailer !== undefined)
        this.#trailers = statusTrailers(new Headers(this.#call.givenResponseTrailer), error);
      if (stream.writableEnded) this.#trailers = statusOk;
      else if (stream.headersSent) stream.end();
      else if (error !== undefined && this.#call.givenResponseHeader === undefined)
        stream.respond({ ...this.#headers(), ...this.#trailers }, trailersOnlyOptions);
      else {
        this.#begin();
        stream.end();
      }
      if (!stream.readableEnded) this.#dropRest();
    }
    this.#dispatcher.close(this.#call, error);
  }

  #begin(): void {
    if (this.#stream.headersSent) return;
    this.#stream.respond(this.#headers(), answerOptions);
    this.#isTrailing = true;
    this.#stream.once("wantTrailers", () => {
      this.#stream.sendTrailers(this.#trailers);
      this.#onTrailersSent?.();
    });
  }

  #headers(): OutgoingHttpHeaders {
    const headers: OutgoingHttpHeaders = {
      ":status": 200,
      "content-type": contentType,
      "x-request-id": this.#call.requestId,
    };
    if (this.isGzip) headers["grpc-encoding"] = "gzip";
    this.#call.givenResponseHeader?.forEach((value, name) => {
      headers[name] = value;
    });
    return headers;
  }

  /** Makes the caller stop sending a request that was answered, once the answer is being sent. */
  #dropRest(): void {
    const stream = this.#stream;
    stream.removeAllListeners("data");
    stream.resume();
    const close = (): void => {
      setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR));
    };
    // Trailers are sent after the stream has finished; a reset before that would drop them.
    if (this.#isTrailing) this.#onTrailersSent = close;
    else close();
  }
}

/** Adds how a call ended to the trailers of its handler. */
const statusTrailers = (trailers: Headers, error: ConnectError | undefined): OutgoingHttpHeaders => {
  const outgoing = toOutgoing(setTrailerStatus(trailers, error));
  // Connect escapes more than the protocol requires, which stock clients show unescaped.
  return error === undefined ? outgoing : { ...outgoing, "grpc-message": encodeGrpcMessage(error.rawMessage) };
};

const toOutgoing = (headers: Headers): OutgoingHttpHeaders => {
  const outgoing: OutgoingHttpHeaders = {};
  headers.forEach((value, name) => {
    outgoing[name] = value;
  });
  return outgoing;
};

/**
 * The value of `grpc-message` for a text: only the UTF-8 bytes outside 0x20 to 0x7e and the percent sign are
 * percent-encoded, because stock clients do not decode other escapes. A lone surrogate becomes U+FFFD.
 */
const encodeGrpcMessage = (text: string): string =>
  text.replace(/[^\x20-\x24\x26-\x7e]+/g, (part) =>
    Array.from(Buffer.from(part), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
