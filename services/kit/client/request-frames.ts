import type { DescMessage, DescMethodStreaming, MessageInitShape } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";

import { frameParts } from "../wire/frame-parser.ts";
import { isLent } from "../wire/lent-memory.ts";
import { messageCodec } from "../wire/message-codec.ts";
import { countPassingBytes } from "../wire/passing-bytes.ts";

/** The call whose requests are sent. */
export interface RequestsOwner {
  /** True if no more requests are needed. */
  readonly isOver: boolean;
  /** The caller's iterable threw. */
  fail(error: unknown): void;
  /** Runs when the call is over. */
  onOver: (() => void) | undefined;
}

/** The buffers of requests that are all known. */
export const wholeFrames = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodStreaming<I, O>,
  messages: readonly MessageInitShape<I>[],
): Uint8Array[] => {
  const codec = messageCodec(method.input);
  const frames: Uint8Array[] = [];
  for (const message of messages) {
    const { parts, byteLength } = codec.encode(message);
    frames.push(...frameParts(0, parts, byteLength));
  }
  return frames;
};

/**
 * The buffers of a stream of requests, pulled as the network accepts them. If the call ends first, the caller's
 * iterable is closed; if the iterable throws, the call fails with its exception.
 */
export async function* requestFrames<I extends DescMessage, O extends DescMessage>(
  method: DescMethodStreaming<I, O>,
  input: AsyncIterable<MessageInitShape<I>>,
  owner: RequestsOwner,
): AsyncGenerator<Uint8Array> {
  const codec = messageCodec(method.input);
  const iterator = input[Symbol.asyncIterator]();
  let isEnded = false;
  owner.onOver = () => {
    if (isEnded) return;
    isEnded = true;
    void Promise.resolve(iterator.return?.()).catch(() => {});
  };
  try {
    while (!owner.isOver) {
      const next = await iterator.next();
      if (next.done === true) {
        isEnded = true;
        return;
      }
      const { parts, byteLength } = codec.encode(next.value);
      for (const part of frameParts(0, parts, byteLength)) {
        // It is not known when it was sent, so it is not given back.
        if (isLent(part)) countPassingBytes(part.length);
        yield part;
      }
    }
  } catch (error) {
    // The caller's own exception is the cause.
    owner.fail(ConnectError.from(error));
    throw error;
  } finally {
    if (!isEnded) owner.onOver();
  }
}
