import type { Readable } from "node:stream";

import type { Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";

import type { Frame } from "../wire/frame-parser.ts";
import { compressedFlag, FrameParser, tooLarge } from "../wire/frame-parser.ts";
import { FrameQueue } from "../wire/frame-queue.ts";
import { GatheredBytes } from "../wire/gathered-bytes.ts";
import { decompress } from "../wire/gzip.ts";
import type { MessageCodec } from "../wire/message-codec.ts";
import { malformed, ProtocolError } from "../wire/protocol-error.ts";
import { refuseManyValues } from "../wire/request-values.ts";
import type { Call } from "./call.ts";

/** An empty HTTP/2 stream ends even without a reader, so its event may have passed. */
const whenEnded = (source: Readable, run: () => void): void => {
  if (source.readableEnded) run();
  else source.on("end", run);
};

/** Reads a whole body. Refuses a declared length over the limit before reading, other bodies when they exceed it. */
export const readWholeBody = (
  source: Readable,
  declaredBytes: number | undefined,
  limitBytes: number,
  call: Call,
): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    if (declaredBytes !== undefined && declaredBytes > limitBytes) {
      reject(tooLarge(limitBytes));
      return;
    }
    const bytes = new GatheredBytes();
    let isTooLarge = false;
    source.on("data", (chunk: Buffer) => {
      if (isTooLarge) return;
      bytes.add(chunk);
      if (bytes.size <= limitBytes) return;
      isTooLarge = true;
      bytes.takeParts();
      reject(tooLarge(limitBytes));
    });
    whenEnded(source, () => resolve(bytes.take()));
    call.whenAborted(reject);
  });

/** Reads a body that is one frame. Refuses one over the limit as soon as its length is known. */
export const readOnlyFrame = (source: Readable, limitBytes: number, call: Call): Promise<Frame> =>
  new Promise((resolve, reject) => {
    const parser = new FrameParser(limitBytes);
    const frames: Frame[] = [];
    source.on("data", (chunk: Buffer) => {
      try {
        parser.push(chunk, frames);
        if (frames.length > 1)
          throw new ProtocolError(Code.Unimplemented, "The call has more than one request message.");
      } catch (error) {
        source.removeAllListeners("data");
        reject(error);
      }
    });
    whenEnded(source, () => {
      const [frame] = frames;
      if (frame === undefined || parser.isWithinFrame)
        reject(new ProtocolError(Code.Unimplemented, "The call has no whole request message."));
      else resolve(frame);
    });
    call.whenAborted(reject);
  });

/** The frames of a body, read from the network on demand. */
export const bodyFrames = (source: Readable, limitBytes: number, call: Call): FrameQueue => {
  const flow = { pause: () => source.pause(), resume: () => source.resume() };
  const queue = new FrameQueue(limitBytes, flow, call.route.input.findPayload);
  source.pause();
  source.on("data", (chunk: Buffer) => queue.push(chunk));
  whenEnded(source, () => queue.end());
  call.whenAborted((reason) => queue.fail(reason));
  return queue;
};

/** How the frames of a stream of requests become messages. */
export interface FrameDecoding {
  readonly codec: MessageCodec;
  readonly isGzip: boolean;
  readonly limitBytes: number;
}

/** Decodes one frame. Refuses flags that do not fit the stream's encoding, and bytes that are not such a message. */
export const decodeFrame = async (frame: Frame, decoding: FrameDecoding): Promise<Message> => {
  const { codec } = decoding;
  if (frame.flags === 0) {
    return readable(() => {
      refuseManyValues(codec.desc, frame.body);
      return codec.decodeFrame(frame);
    });
  }
  if (frame.flags !== compressedFlag) throw malformed(`A frame of the request has unknown flags ${frame.flags}.`);
  if (!decoding.isGzip)
    throw new ProtocolError(Code.Internal, "A message is compressed and the request names no encoding.");
  return decodeMessage(codec, await decompress(frame.body, decoding.limitBytes));
};

/** Decodes a message; bytes that are not such a message are the caller's fault. */
export const decodeMessage = (codec: MessageCodec, bytes: Uint8Array): Message =>
  readable(() => {
    refuseManyValues(codec.desc, bytes);
    return codec.decode(bytes);
  });

const readable = (decode: () => Message): Message => {
  try {
    return decode();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    throw malformed("The request is not a valid message.");
  }
};

/** Made once, because every call is closed; only a reader who goes on after that sees it. */
export const callEnded = new ProtocolError(Code.Canceled, "The call has ended.");

/** The messages of a stream of requests. Closing it drops the rest. */
export const messagesOf = (queue: FrameQueue, decoding: FrameDecoding, call: Call): AsyncIterator<Message> => ({
  next: async () => {
    if (call.route.method.methodKind !== "bidi_streaming") call.awaitsSinceMs = performance.now();
    const frame = await queue.next();
    call.awaitsSinceMs = undefined;
    if (frame === undefined) return { done: true, value: undefined };
    return { done: false, value: await decodeFrame(frame, decoding) };
  },
  return: () => {
    queue.fail(callEnded);
    return Promise.resolve({ done: true, value: undefined });
  },
});
