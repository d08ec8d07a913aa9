import type { DescMessage, DescMethod, DescMethodStreaming, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Dispatcher } from "undici";
import { Pool } from "undici";

import { messageCodec } from "../wire/message-codec.ts";
import { deadlineHeader } from "../wire/timeouts.ts";
import type { AnswerHeaders, HeadersInput } from "./answers.ts";
import { UnaryAnswer, streamAnswer } from "./answers.ts";
import { answerHeaders } from "./connect-answer.ts";
import { ConnectStreamCall } from "./connect-stream-call.ts";
import { ConnectUnaryCall } from "./connect-unary-call.ts";
import { createConnector } from "./connector.ts";
import { requestFrames, wholeFrames } from "./request-frames.ts";
import { WholeRequests } from "./whole-requests.ts";
import type { ClosableTransport, EngineOptions } from "./engine.ts";

/** Calls in the Connect protocol over HTTP/1.1, each on a connection of its own while it runs. */
export const createConnectEngine = (options: EngineOptions): ClosableTransport => {
  const pool = createPool(options);
  const paths = new WeakMap<DescMethod, string>();
  const pathOf = (method: DescMethod): string => {
    let path = paths.get(method);
    if (path === undefined) {
      path = `/${method.parent.typeName}/${method.name}`;
      paths.set(method, path);
    }
    return path;
  };
  const headerLines = async (
    contentType: string,
    timeoutMs: number | undefined,
    given: HeadersInput | undefined,
  ): Promise<string[]> => {
    const lines = ["content-type", contentType, "connect-protocol-version", "1"];
    if (timeoutMs !== undefined) {
      const leftMs = Math.max(0, Math.ceil(timeoutMs));
      lines.push("connect-timeout-ms", String(leftMs), deadlineHeader, String(Date.now() + leftMs));
    }
    let isAuthorized = false;
    for (const [name, value] of headerEntries(given)) {
      lines.push(name, value);
      isAuthorized ||= name.toLowerCase() === "authorization";
    }
    if (options.token !== undefined && !isAuthorized) lines.push("authorization", `Bearer ${await options.token()}`);
    return lines;
  };

  const unary: Transport["unary"] = async (method, signal, timeoutMs, header, input) => {
    const encoded = messageCodec(method.input).encode(input);
    const headers = await headerLines("application/proto", timeoutMs, header);
    if (encoded.parts.length > 1) headers.push("content-length", String(encoded.byteLength));
    const body = encoded.parts.length > 1 ? encoded.parts : encoded.parts[0];
    const call = new ConnectUnaryCall(options.limits.messageBytesMax, signal, timeoutMs);
    dispatch(pool, { path: pathOf(method), method: "POST", headers, body: body as Buffer }, call);
    const answer = await call.answer;
    const message = decodeAnswer(method.output, answer.body);
    return new UnaryAnswer(method, message, () => answerHeaders(answer.headers));
  };

  const stream: Transport["stream"] = async (method, signal, timeoutMs, header, input) => {
    const headers = await headerLines("application/connect+proto", timeoutMs, header);
    const codec = messageCodec(method.output);
    const call = new ConnectStreamCall(options.limits.messageBytesMax, signal, timeoutMs, codec.findPayload);
    const body = await requestBody(method, input, call);
    dispatch(pool, { path: pathOf(method), method: "POST", headers, body: body as Buffer }, call);
    const received = await call.headers;
    let known: AnswerHeaders | undefined;
    const readHeaders = (): AnswerHeaders => (known ??= answerHeaders(received));
    const messages = call.messages(codec.decodeFrame, (metadata) =>
      metadata.forEach((value, name) => readHeaders().trailer.append(name, value)),
    );
    return streamAnswer(method, readHeaders, messages);
  };

  return { unary, stream, close: () => pool.destroy() };
};

/**
 * Names and values. A record is read directly, because creating Headers costs more than the rest of a call's headers.
 */
const headerEntries = (given: HeadersInput | undefined): Iterable<readonly [string, string]> => {
  if (given === undefined) return [];
  const isRecord = !(given instanceof Headers) && !(Symbol.iterator in given);
  return isRecord ? Object.entries(given as Record<string, string>) : new Headers(given);
};

const createPool = (options: EngineOptions): Pool => {
  const { address, limits } = options;
  return new Pool(address.startsWith("unix:") ? "http://localhost" : address, {
    connect: createConnector(options),
    connections: limits.connectionsMax,
    pipelining: 1,
    // Calls end by their own deadlines; streams may be silent for any time.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 60_000,
    allowH2: false,
  });
};

const dispatch = (
  pool: Pool,
  request: Dispatcher.DispatchOptions,
  call: Dispatcher.DispatchHandler & { fail(error: unknown): void },
): void => {
  try {
    pool.dispatch(request, call);
  } catch (error) {
    call.fail(error);
  }
};

const decodeAnswer = <D extends DescMessage>(desc: D, bytes: Uint8Array): MessageShape<D> => {
  try {
    return messageCodec(desc).decode(bytes);
  } catch (error) {
    throw new ConnectError("the answer is not a valid message", Code.Internal, undefined, undefined, error);
  }
};

/** The requests as they are sent: those of a call with one request, or with known ones, as one body of known length. */
const requestBody = async <I extends DescMessage, O extends DescMessage>(
  method: DescMethodStreaming<I, O>,
  input: AsyncIterable<MessageInitShape<I>>,
  call: ConnectStreamCall,
): Promise<Uint8Array | AsyncIterable<Uint8Array>> => {
  if (input instanceof WholeRequests) return joined(wholeFrames(method, input.messages as MessageInitShape<I>[]));
  const frames = requestFrames(method, input, call);
  if (method.methodKind !== "server_streaming") return frames;
  const parts: Uint8Array[] = [];
  for await (const part of frames) parts.push(part);
  return joined(parts);
};

const joined = (parts: readonly Uint8Array[]): Uint8Array =>
  parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
