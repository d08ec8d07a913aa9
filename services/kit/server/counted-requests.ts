import { AsyncLocalStorage } from "node:async_hooks";

import type { DescMessage } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { compressionGzip } from "@connectrpc/connect-node";

import type { Frame } from "../wire/frame-parser.ts";
import { compressedFlag, FrameParser } from "../wire/frame-parser.ts";
import { GatheredBytes } from "../wire/gathered-bytes.ts";
import { ProtocolError } from "../wire/protocol-error.ts";
import { refuseManyJsonValues, refuseManyValues } from "../wire/request-values.ts";

/** How the messages of a request are encoded, as its head says. */
interface Encoding {
  readonly isJson: boolean;
  /** Whether its body is one message, and not the frames of several. */
  readonly isWhole: boolean;
  /** Whether a body that is one message is compressed; of frames, each says so itself. */
  readonly isCompressed: boolean;
}

/** The parts of a request that say how it is encoded. */
interface RequestHead {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: { readonly "content-type"?: string | undefined; readonly "content-encoding"?: string | undefined };
}

const encodingOf = ({ method, url = "", headers }: RequestHead): Encoding => {
  if (method === "GET") {
    const query = new URLSearchParams(url.split("?", 2)[1]);
    return { isJson: query.get("encoding") !== "proto", isWhole: true, isCompressed: query.has("compression") };
  }
  const type = headers["content-type"] ?? "";
  return {
    isJson: type.includes("json"),
    isWhole: /^application\/(?:json|proto)(?:$|[\s;])/.test(type),
    isCompressed: headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity",
  };
};

const current = new AsyncLocalStorage<Encoding>();

/** Runs what reads a request through the router, whose messages are counted as the head says that they are encoded. */
export const countingAs = <T>(head: RequestHead, read: () => Promise<T>): Promise<T> =>
  current.run(encodingOf(head), read);

/** Refuses the bytes of one message before the router decodes them. Throws ConnectError, which the router passes on. */
const refuseMany = (input: DescMessage, bytes: Uint8Array, isJson: boolean): void => {
  try {
    (isJson ? refuseManyJsonValues : refuseManyValues)(input, bytes);
  } catch (error) {
    throw asConnectError(error);
  }
};

const asConnectError = (error: unknown): unknown =>
  error instanceof ProtocolError ? new ConnectError(error.message, error.code) : error;

/** The pieces of a body. Before the last piece of a message is passed on, or the end of the body, it is counted. */
export async function* countedBody(
  body: AsyncIterable<Uint8Array>,
  input: DescMessage,
  limitBytes: number,
): AsyncGenerator<Uint8Array> {
  const { isJson = false, isWhole = true, isCompressed = false } = current.getStore() ?? {};
  if (!isWhole) {
    const parser = new FrameParser(limitBytes);
    for await (const piece of body) {
      for (const frame of framesIn(parser, piece))
        if ((frame.flags & compressedFlag) === 0) refuseMany(input, frame.body, isJson);
      yield piece;
    }
    return;
  }
  const whole = new GatheredBytes();
  for await (const piece of body) {
    // Of one that is too large, or that is counted when it is decompressed, nothing is kept.
    if (!isCompressed && whole.size <= limitBytes) whole.add(piece);
    yield piece;
  }
  refuseMany(input, whole.take(), isJson);
}

const framesIn = (parser: FrameParser, piece: Uint8Array): readonly Frame[] => {
  const frames: Frame[] = [];
  try {
    parser.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength), frames);
  } catch (error) {
    throw asConnectError(error);
  }
  return frames;
};

/** The compression of requests of one type, whose messages are counted when they were decompressed. */
export const countingGzip = (input: DescMessage): Compression => ({
  ...compressionGzip,
  decompress: async (bytes, readMaxBytes) => {
    const message = await compressionGzip.decompress(bytes, readMaxBytes);
    refuseMany(input, message, current.getStore()?.isJson === true);
    return message;
  },
});
