import type { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";

import type { DescMessage, DescMethodStreaming, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { StreamResponse } from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";
import type { ChannelInterface, ClientDuplexStream } from "@grpc/grpc-js";
import { connectivityState, status as grpcStatus } from "@grpc/grpc-js";

import type { Flow } from "../wire/frame-queue.ts";
import { StreamAnswer } from "./answers.ts";
import { watchCallEnd } from "./call-end.ts";
import { errorOfCall, toHeaders } from "./grpc-answer.ts";

/** Sends the requests as the channel accepts them; resolves when the answer begins. */
export const startGrpcStream = <I extends DescMessage, O extends DescMessage>(
  call: ClientDuplexStream<MessageInitShape<I>, MessageShape<O>>,
  method: DescMethodStreaming<I, O>,
  signal: AbortSignal | undefined,
  input: AsyncIterable<MessageInitShape<I>>,
  channel: ChannelInterface,
): Promise<StreamResponse<I, O>> =>
  new Promise((resolve, reject) => {
    const trailer = new Headers();
    const answers = new AnswerQueue<MessageShape<O>>(call);
    const requests = input[Symbol.asyncIterator]();
    let givenUp: ConnectError | undefined;
    const state = { isOver: false };
    let sent: (() => void) | undefined;
    const giveUp = (error: ConnectError): void => {
      givenUp ??= error;
      reject(givenUp);
      call.cancel();
    };
    const begin = (header: Headers): void =>
      resolve(new StreamAnswer(method, () => ({ header, trailer }), answers.read(giveUp)));

    call.on("metadata", (metadata) => begin(toHeaders(metadata)));
    // The status event that follows has the same error.
    call.on("error", () => {});
    call.on("status", (status) => {
      state.isOver = true;
      sent?.();
      end.release();
      toHeaders(status.metadata).forEach((value, name) => trailer.append(name, value));
      if (status.code !== grpcStatus.OK) {
        const error = givenUp ?? errorOfCall(status, call, channel.getTarget());
        answers.error = error;
        reject(error);
      } else begin(new Headers());
      void Promise.resolve(requests.return?.()).catch(() => {});
    });
    const end = watchCallEnd(signal, undefined, giveUp);

    /**
     * The channel accepts messages before it is connected; waiting for it keeps an unsent call repeatable. A call that
     * failed for want of a connection reports that an event loop turn later, when the channel may already have one.
     */
    const connected = async (): Promise<void> => {
      while (!state.isOver) {
        const current = channel.getConnectivityState(false);
        if (current === connectivityState.READY) {
          await setImmediate();
          return;
        }
        await new Promise<void>((resolveChanged) => {
          sent = resolveChanged;
          channel.watchConnectivityState(current, Infinity, () => resolveChanged());
        });
      }
    };

    const send = async (): Promise<void> => {
      for (let isFirst = true; !state.isOver; isFirst = false) {
        const next = await requests.next();
        if (next.done === true || state.isOver) break;
        const message = next.value;
        // One at a time, because the channel bounds the number of waiting messages and not their bytes.
        await new Promise<void>((resolveSent) => {
          sent = resolveSent;
          call.write(message, () => resolveSent());
        });
        if (isFirst) await connected();
      }
      call.end();
    };
    send().catch((error: unknown) => giveUp(ConnectError.from(error)));
  });

/** The messages of an answer, read on demand. */
class AnswerQueue<M> {
  /** Why the answer ends; thrown after the messages before it. */
  error: ConnectError | undefined;
  readonly #call: Flow;
  readonly #messages: M[] = [];
  #isEnded = false;
  #wake: (() => void) | undefined;

  constructor(call: Readable) {
    this.#call = call;
    call.pause();
    call.on("data", (message: M) => {
      this.#messages.push(message);
      call.pause();
      this.#wake?.();
    });
    call.on("end", () => {
      this.#isEnded = true;
      this.#wake?.();
    });
  }

  async *read(giveUp: (error: ConnectError) => void): AsyncGenerator<M> {
    let isWhole = false;
    try {
      for (;;) {
        const message = this.#messages.shift();
        if (message !== undefined) yield message;
        else if (this.#isEnded) break;
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
            this.#call.resume();
          });
      }
      isWhole = true;
    } finally {
      if (!isWhole) giveUp(new ConnectError("the answer was left", Code.Canceled));
    }
    if (this.error !== undefined) throw this.error;
  }
}
