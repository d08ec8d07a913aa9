import type { Socket } from "node:net";

import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";

import { PassingMap } from "../collections/passing-map.ts";
import type { Frame } from "../wire/frame-parser.ts";
import { FrameParser, frameParts, tooLarge } from "../wire/frame-parser.ts";
import { GatheredWrites } from "../wire/gathered-writes.ts";
import { malformed } from "../wire/protocol-error.ts";
import { settlesAtOnce } from "../wire/settles-at-once.ts";
import type { SharedFrame } from "../wire/shared-frames.ts";
import {
  decodeSharedFrame,
  encodeSharedFrame,
  frameKinds,
  sharedBytesMax,
  sharedPreface,
} from "../wire/shared-frames.ts";
import type { Call } from "./call.ts";
import type { Dispatcher } from "./dispatch.ts";
import type { Elsewhere } from "./elsewhere.ts";
import { pushGivenHeaders, pushHeaders, readTimeout, streamEnd } from "./lane-connect.ts";
import type { LargeMessages } from "./large-answer.ts";
import { sendLarge } from "./large-answer.ts";
import { decodeMessage } from "./request-body.ts";
import type { Route } from "./route.ts";

/** A shared connection that is served. */
export interface ServedConnection {
  /** Asks the caller to make no further calls on it, and to end it after those that run. */
  leave(): void;
}

/** More than the body of a call and the headers that are accepted with it. */
const frameBytesMax = 2 * sharedBytesMax;

/** Serves the calls of a shared connection, which run at the same time. Anything but its frames ends it. */
export const serveShared = (dispatcher: Dispatcher, elsewhere: Elsewhere, socket: Socket): ServedConnection => {
  const output = new GatheredWrites(socket);
  const parser = new FrameParser(frameBytesMax);
  const calls = new PassingMap<number, Call>();
  let prefaceLeft = sharedPreface.length;

  const receive = (frame: SharedFrame): void => {
    const running = calls.get(frame.call);
    if (frame.kind === frameKinds.cancel) {
      if (running !== undefined) dispatcher.abandon(running);
      return;
    }
    if (frame.kind !== frameKinds.call || running !== undefined) throw new Error("a frame that no caller sends");
    const route = dispatcher.find(frame.first);
    if (route === undefined) {
      const unknown = new ConnectError(`${frame.first} is not offered`, Code.Unimplemented);
      sendRefusal(output, frame.call, unknown, []);
      return;
    }
    const call = dispatcher.open(route, frame.headers, readTimeout);
    calls.set(frame.call, call);
    const answering = new SharedAnswering({ dispatcher, elsewhere, output, call, number: frame.call, socket });
    void answering.serve(frame).finally(() => calls.delete(frame.call));
  };
  const take = (chunk: Buffer): void => {
    const skipped = Math.min(prefaceLeft, chunk.length);
    const expected = sharedPreface.subarray(sharedPreface.length - prefaceLeft).subarray(0, skipped);
    try {
      if (!expected.equals(chunk.subarray(0, skipped))) throw new Error("another preface");
      prefaceLeft -= skipped;
      const frames: Frame[] = [];
      parser.push(chunk.subarray(skipped), frames);
      for (const frame of frames) receive(decodeSharedFrame(frame));
    } catch {
      socket.destroy();
    }
    // A caller that reads no answers makes no further calls.
    if (socket.writableNeedDrain) socket.pause();
  };
  socket.on("data", take);
  socket.on("drain", () => socket.resume());
  socket.on("end", () => {
    output.flush();
    socket.end();
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    for (const call of calls.values()) dispatcher.abandon(call);
  });
  socket.setTimeout(dispatcher.limits.stallTimeoutMs, () => {
    if (socket.writableLength > 0) socket.destroy();
  });
  return { leave: () => void encodeSharedFrame(frameKinds.leave, 0, "", [], [], output.reserve) };
};

interface AnsweringParts {
  readonly dispatcher: Dispatcher;
  readonly elsewhere: Elsewhere;
  readonly output: GatheredWrites;
  readonly call: Call;
  readonly number: number;
  readonly socket: Socket;
}

/** Answers one call. */
class SharedAnswering {
  readonly #parts: AnsweringParts;
  readonly #call: Call;
  readonly #dispatcher: Dispatcher;
  #isElsewhere = false;

  constructor(parts: AnsweringParts) {
    this.#parts = parts;
    this.#call = parts.call;
    this.#dispatcher = parts.dispatcher;
    this.#call.whenAborted((reason) => this.#fail(reason));
  }

  async serve({ headers, body }: SharedFrame): Promise<void> {
    const { route } = this.#call;
    try {
      await this.#dispatcher.admit(this.#call, headers, this.#parts.socket);
      const { methodKind } = route.method;
      if (methodKind === "unary") await this.#unary(route, body);
      else if (methodKind === "client_streaming") await this.#upload(route, body);
      else await this.#stream(route, body);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  async #unary(route: Route, body: Buffer): Promise<void> {
    const call = this.#call;
    const limitBytes = this.#dispatcher.messageBytesMax(route);
    if (body.length > limitBytes) throw tooLarge(limitBytes);
    const encoded = route.output.encode(await this.#dispatcher.unary(call, decodeMessage(route.input, body)));
    if (encoded.byteLength > sharedBytesMax) {
      const first = frameParts(0, encoded.parts, encoded.byteLength);
      return this.#sendElsewhere({ first }, pushGivenHeaders);
    }
    const lines = ["x-request-id", call.requestId];
    pushGivenHeaders(lines, call);
    this.#answer(lines, encoded.parts);
  }

  /** The answer of an upload is known as a whole, so the steps of a stream would be for nothing. */
  async #upload(route: Route, body: Buffer): Promise<void> {
    const requests = requestsOf(route, body, this.#dispatcher);
    const encoded = route.output.encode(await this.#dispatcher.upload(this.#call, requests));
    const frame = frameParts(0, encoded.parts, encoded.byteLength);
    if (encoded.byteLength <= sharedBytesMax) this.#answerStream(frame);
    else this.#sendElsewhere({ first: frame }, pushStreamHeaders);
  }

  async #stream(route: Route, body: Buffer): Promise<void> {
    const call = this.#call;
    const answers = this.#dispatcher.stream(call, requestsOf(route, body, this.#dispatcher));
    let isTaken = false;
    try {
      const first = await answers.next();
      if (first.done === true) return this.#answerStream([]);
      const { parts, byteLength } = route.output.encode(first.value);
      const frame = frameParts(0, parts, byteLength);
      const asked = answers.next();
      const isOnly = byteLength <= sharedBytesMax && (await settlesAtOnce(asked, ({ done }) => done === true));
      if (isOnly) return this.#answerStream(frame);
      isTaken = true;
      asked.catch(() => {});
      this.#sendElsewhere({ first: frame, more: { asked, answers } }, pushStreamHeaders);
    } finally {
      if (!isTaken) void answers.return(undefined).catch(() => {});
    }
  }

  #answerStream(only: readonly Uint8Array[]): void {
    const lines = ["x-request-id", this.#call.requestId];
    pushStreamHeaders(lines, this.#call);
    this.#answer(lines, [...only, ...streamEnd(this.#call, undefined)]);
  }

  /** Sends an answer, unless the call was given up meanwhile. */
  #answer(lines: readonly string[], body: readonly Uint8Array[]): void {
    const { output, number } = this.#parts;
    if (this.#call.isClosed) return;
    encodeSharedFrame(frameKinds.answer, number, "200", lines, body, output.reserve);
    this.#dispatcher.close(this.#call);
  }

  /** The same for an answer that is large or has further messages. One that is not sent at all is dropped. */
  #sendElsewhere(answer: LargeMessages, push: (lines: string[], call: Call) => void): void {
    const { elsewhere, output, number } = this.#parts;
    const call = this.#call;
    const drop = (): void => void answer.more?.answers.return(undefined).catch(() => {});
    if (call.isClosed) return drop();
    this.#isElsewhere = true;
    const send = (socket: Socket): Promise<void> => {
      const lines = ["x-request-id", call.requestId];
      push(lines, call);
      return sendLarge(this.#dispatcher, { call, lines, ...answer }, socket);
    };
    encodeSharedFrame(frameKinds.elsewhere, number, elsewhere.keep(call, send, drop), [], [], output.reserve);
  }

  /** Refuses the call, unless its answer was sent or is sent elsewhere. */
  #fail(thrown: unknown): void {
    const { output, number } = this.#parts;
    if (this.#call.isClosed || this.#isElsewhere) return;
    const error = this.#dispatcher.refuse(this.#call, thrown);
    const lines = ["x-request-id", this.#call.requestId];
    if (this.#call.route.method.methodKind === "unary") {
      pushGivenHeaders(lines, this.#call);
      sendRefusal(output, number, error, lines);
    } else {
      pushHeaders(lines, this.#call.givenResponseHeader, "");
      encodeSharedFrame(frameKinds.answer, number, "200", lines, streamEnd(this.#call, error), output.reserve);
    }
    this.#dispatcher.close(this.#call, error);
  }
}

/** Sends the refusal of a unary call, as in the Connect protocol. */
const sendRefusal = (output: GatheredWrites, number: number, error: ConnectError, given: readonly string[]): void => {
  const lines = [...given, "content-type", "application/json"];
  pushHeaders(lines, error.metadata, "");
  const status = String(codeToHttpStatus(error.code));
  encodeSharedFrame(frameKinds.answer, number, status, lines, [errorToJsonBytes(error, {})], output.reserve);
};

/** Adds the headers that the handler of a stream has set; its trailers are sent with its end. */
const pushStreamHeaders = (lines: string[], { givenResponseHeader }: Call): void =>
  pushHeaders(lines, givenResponseHeader, "");

/** The messages of a request whose frames are all there. */
const requestsOf = (route: Route, body: Buffer, dispatcher: Dispatcher): AsyncIterator<Message> => {
  const frames: Frame[] = [];
  const parser = new FrameParser(dispatcher.messageBytesMax(route));
  let next = 0;
  return {
    next: async () => {
      if (next === 0) parser.push(body, frames);
      const frame = frames[next];
      next += 1;
      if (frame === undefined && parser.isWithinFrame) throw malformed("The stream ends within a message.");
      if (frame === undefined) return { done: true, value: undefined };
      if (frame.flags !== 0) throw malformed(`A frame of the request has unknown flags ${frame.flags}.`);
      return { done: false, value: decodeMessage(route.input, frame.body) };
    },
    return: () => Promise.resolve({ done: true, value: undefined }),
  };
};
