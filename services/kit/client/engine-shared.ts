import type {
  DescMessage,
  DescMethodStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import type { StreamResponse, Transport, UnaryResponse } from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";

import { endStreamFlag, FrameParser } from "../wire/frame-parser.ts";
import type { Frame } from "../wire/frame-parser.ts";
import type { HeadersInput } from "../wire/headers-input.ts";
import { messageCodec } from "../wire/message-codec.ts";
import { sharedBytesMax } from "../wire/shared-frames.ts";
import type { LargeAnswer } from "./answer-connections.ts";
import { AnswerConnections } from "./answer-connections.ts";
import { goesOn, unknownFlags } from "./answer-messages.ts";
import type { AnswerHeaders } from "./answers.ts";
import { StreamAnswer, UnaryAnswer } from "./answers.ts";
import type { StreamEnd } from "./connect-answer.ts";
import { answerError, answerHeaders, protocolFailure, streamAnswer, streamEnd } from "./connect-answer.ts";
import { callHeaderLines, decodeAnswer, methodPath } from "./connect-request.ts";
import type { ClosableTransport, EngineOptions } from "./engine.ts";
import { wholeFrames } from "./request-frames.ts";
import type { SharedAnswer } from "./shared-connection.ts";
import { SharedConnection } from "./shared-connection.ts";
import { WholeAnswers } from "./whole-answers.ts";
import { WholeRequests } from "./whole-requests.ts";

/**
 * Calls with a small, known request over one connection to a unix socket, on which they run at the same time. All
 * others, and large answers, use connections of their own through the other engine, which is closed with this one.
 */
export const createSharedEngine = (options: EngineOptions, other: ClosableTransport): ClosableTransport => {
  const { limits, address } = options;
  const socketPath = address.slice("unix:".length);
  const largeAnswers = new AnswerConnections({ path: socketPath, ...limits });
  let connection: SharedConnection | undefined;
  const open = (): SharedConnection => {
    if (connection?.isOpen !== true)
      connection = new SharedConnection({
        path: socketPath,
        connectTimeoutMs: limits.connectTimeoutMs,
        frameBytesMax: limits.messageBytesMax,
      });
    return connection;
  };
  const send = (
    path: string,
    body: readonly Uint8Array[],
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInput | undefined,
  ): Promise<SharedAnswer> => {
    const call = (lines: readonly string[]): Promise<SharedAnswer> => open().call(path, lines, body, signal, timeoutMs);
    const lines = callHeaderLines(options, timeoutMs, header);
    return lines instanceof Promise ? lines.then(call) : call(lines);
  };

  const unary: Transport["unary"] = async (method, signal, timeoutMs, header, input, values) => {
    const encoded = messageCodec(method.input).encode(input);
    if (encoded.byteLength > sharedBytesMax) return other.unary(method, signal, timeoutMs, header, input, values);
    const leftMs = countdown(timeoutMs);
    const answer = await send(methodPath(method), encoded.parts, signal, timeoutMs, header);
    if (answer.elsewhere !== undefined)
      return largeUnary(method, await largeAnswers.ask(answer.elsewhere, undefined, { signal, timeoutMs: leftMs() }));
    const { status, headers, body } = answer;
    if (status !== 200) throw answerError(status, headers, body);
    return new UnaryAnswer(method, decodeAnswer(method.output, body), () => answerHeaders(headers), headers);
  };

  const stream: Transport["stream"] = async (method, signal, timeoutMs, header, input, values) => {
    const whole = input instanceof WholeRequests ? input : await wholeRequests(method, input);
    const frames = whole && wholeFrames(method, whole.messages);
    const bytes = frames?.reduce((sum, part) => sum + part.length, 0) ?? 0;
    if (frames === undefined || bytes > sharedBytesMax)
      return other.stream(method, signal, timeoutMs, header, whole ?? input, values);
    const leftMs = countdown(timeoutMs);
    const answer = await send(methodPath(method), frames, signal, timeoutMs, header);
    if (answer.elsewhere === undefined) return wholeStream(method, answer, limits.messageBytesMax);
    const { findPayload } = messageCodec(method.output);
    const large = await largeAnswers.ask(answer.elsewhere, findPayload, { signal, timeoutMs: leftMs() });
    return streamAnswer(method, large.headers, large);
  };

  return {
    unary,
    stream,
    close: async () => {
      connection?.close();
      largeAnswers.close();
      await other.close();
    },
  };
};

/** What is left of a call's time, in milliseconds; undefined: it has no deadline. */
const countdown = (timeoutMs: number | undefined): (() => number | undefined) => {
  if (timeoutMs === undefined) return () => undefined;
  const untilMs = performance.now() + timeoutMs;
  return () => Math.max(0, untilMs - performance.now());
};

/** The answer of a unary call: its one message, in a frame as those of streams. */
const largeUnary = async <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  large: LargeAnswer,
): Promise<UnaryResponse<I, O>> => {
  const messages = await Array.fromAsync(
    large.messages(
      ({ body }) => decodeAnswer(method.output, body),
      () => {},
    ),
  );
  const [message, second] = messages;
  if (message === undefined) throw new ConnectError("the answer has no message", Code.Internal);
  if (second !== undefined) throw new ConnectError("the call has more than one answer", Code.Internal);
  return new UnaryAnswer(method, message, () => answerHeaders(large.headers), large.headers);
};

/** The requests of a call if it has only one. */
const wholeRequests = async <I extends DescMessage, O extends DescMessage>(
  method: DescMethodStreaming<I, O>,
  input: AsyncIterable<MessageInitShape<I>>,
): Promise<WholeRequests<MessageInitShape<I>> | undefined> => {
  if (method.methodKind !== "server_streaming") return undefined;
  try {
    return new WholeRequests(await Array.fromAsync(input));
  } catch (error) {
    throw ConnectError.from(error);
  }
};

/** An answer whose frames are all there. Its messages are known at once, unless it ends with an error. */
const wholeStream = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodStreaming<I, O>,
  { status, headers, body }: SharedAnswer,
  limitBytes: number,
): StreamResponse<I, O> => {
  if (status !== 200) throw answerError(status, headers, body);
  let known: AnswerHeaders | undefined;
  const readHeaders = (): AnswerHeaders => (known ??= answerHeaders(headers));
  const messages: MessageShape<O>[] = [];
  const end = readFrames(method.output, body, limitBytes, messages);
  end.metadata?.forEach((value, name) => readHeaders().trailer.append(name, value));
  const answers = end.error === undefined ? new WholeAnswers(messages) : endingWith(end.error, messages);
  return new StreamAnswer(method, readHeaders, answers, headers);
};

/** Reads the messages and the end of an answer. Throws ConnectError if it is malformed. */
const readFrames = <O extends DescMessage>(
  desc: O,
  body: Buffer,
  limitBytes: number,
  messages: MessageShape<O>[],
): StreamEnd => {
  const frames: Frame[] = [];
  const parser = new FrameParser(limitBytes);
  try {
    parser.push(body, frames);
  } catch (error) {
    throw protocolFailure(error);
  }
  for (const [index, frame] of frames.entries()) {
    if (frame.flags === 0) messages.push(decodeAnswer(desc, frame.body));
    else if (frame.flags !== endStreamFlag) throw unknownFlags(frame.flags);
    else if (index + 1 < frames.length || parser.isWithinFrame) throw goesOn();
    else return streamEnd(frame.body);
  }
  throw new ConnectError("the answer ended without its end", Code.Internal);
};

async function* endingWith<T>(error: ConnectError, messages: readonly T[]): AsyncGenerator<T> {
  yield* messages;
  throw error;
}
