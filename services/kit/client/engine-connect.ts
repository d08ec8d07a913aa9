import type { DescMessage, DescMethodStreaming, MessageInitShape } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import type { Dispatcher } from "undici";
import { Pool } from "undici";

import { bodyBytesMin, bodyHeader } from "../wire/body-connection.ts";
import type { HeadersInput } from "../wire/headers-input.ts";
import { messageCodec } from "../wire/message-codec.ts";
import { UnaryAnswer } from "./answers.ts";
import { answerHeaders, streamAnswer } from "./connect-answer.ts";
import { callHeaderLines, decodeAnswer, methodPath } from "./connect-request.ts";
import { ConnectStreamCall } from "./connect-stream-call.ts";
import { ConnectUnaryCall } from "./connect-unary-call.ts";
import { createConnector } from "./connector.ts";
import { BodyConnection } from "./body-connection.ts";
import { PayloadRequests } from "./payload-requests.ts";
import { requestFrames, wholeFrames } from "./request-frames.ts";
import { WholeRequests } from "./whole-requests.ts";
import type { ClosableTransport, EngineOptions } from "./engine.ts";

/** Calls in the Connect protocol over HTTP/1.1, each on a connection of its own while it runs. */
export const createConnectEngine = (options: EngineOptions): ClosableTransport => {
  const pool = createPool(options);
  const unary: Transport["unary"] = async (method, signal, timeoutMs, header, input) => {
    const encoded = messageCodec(method.input).encode(input);
    const headers = await headerLines(options, "application/proto", timeoutMs, header);
    if (encoded.parts.length > 1) headers.push("content-length", String(encoded.byteLength));
    const body = encoded.parts.length > 1 ? encoded.parts : encoded.parts[0];
    const call = new ConnectUnaryCall(options.limits.messageBytesMax, signal, timeoutMs);
    dispatch(pool, { path: methodPath(method), method: "POST", headers, body: body as Buffer }, call);
    const answer = await call.answer;
    const message = decodeAnswer(method.output, answer.body);
    return new UnaryAnswer(method, message, () => answerHeaders(answer.headers));
  };

  const stream: Transport["stream"] = async (method, signal, timeoutMs, header, input) => {
    const headers = await headerLines(options, "application/connect+proto", timeoutMs, header);
    const { findPayload } = messageCodec(method.output);
    const call = new ConnectStreamCall(options.limits.messageBytesMax, signal, timeoutMs, findPayload);
    const connection = bodyConnection(options.address, method, input);
    if (connection !== undefined) {
      headers.push(bodyHeader, connection.name);
      call.onStart = () => connection.start(call);
    }
    const sent = connection === undefined ? input : new WholeRequests([(input as PayloadRequests<never>).head]);
    const body = await requestBody(method, sent, call);
    dispatch(pool, { path: methodPath(method), method: "POST", headers, body: body as Buffer }, call);
    return streamAnswer(method, await call.headers, call);
  };

  return { unary, stream, close: () => pool.destroy() };
};

const headerLines = async (
  options: EngineOptions,
  contentType: string,
  timeoutMs: number | undefined,
  given: HeadersInput | undefined,
): Promise<string[]> => [
  "content-type",
  contentType,
  "connect-protocol-version",
  "1",
  ...(await callHeaderLines(options, timeoutMs, given)),
];

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

/** The connection for the content of an upload that is large enough for one of its own. */
const bodyConnection = <I extends DescMessage, O extends DescMessage>(
  address: string,
  method: DescMethodStreaming<I, O>,
  input: AsyncIterable<MessageInitShape<I>>,
): BodyConnection<I> | undefined => {
  if (!(input instanceof PayloadRequests) || !address.startsWith("unix:")) return undefined;
  const { payload } = input as PayloadRequests<MessageInitShape<I>>;
  if ((payload.sizeBytes ?? 0) < bodyBytesMin) return undefined;
  return new BodyConnection(method.input, payload, address.slice("unix:".length));
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
