import type { ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";

import { compressedFlag, frameParts } from "../wire/frame-parser.ts";
import { compress, gzipBytesMax, gzipBytesMin } from "../wire/gzip.ts";
import type { EncodedMessage } from "../wire/message-codec.ts";

/** A writable answer: both kinds are streams with the same events. */
export type Sink = ServerResponse | ServerHttp2Stream;

/** Compresses a message if that saves enough; undefined: it is sent uncompressed. */
export const gzipped = (encoded: EncodedMessage): Promise<Buffer> | undefined => {
  const [only] = encoded.parts;
  const isWorthIt =
    only !== undefined &&
    encoded.parts.length === 1 &&
    encoded.byteLength >= gzipBytesMin &&
    encoded.byteLength <= gzipBytesMax;
  return isWorthIt ? compress(only) : undefined;
};

/** The buffers of one message in its frame. */
export const frameOf = async (encoded: EncodedMessage, isGzip: boolean): Promise<readonly Uint8Array[]> => {
  const small = isGzip ? await gzipped(encoded) : undefined;
  return small === undefined
    ? frameParts(0, encoded.parts, encoded.byteLength)
    : frameParts(compressedFlag, [small], small.length);
};

/** Writes buffers together. False: the network is slower, wait for `drained`. */
export const writeParts = (sink: Sink, parts: readonly Uint8Array[]): boolean => {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return sink.write(only);
  // The socket is corked and not the response: a corked response counts its buffered bytes twice and may
  // then wait for a `drain` that never comes.
  const held = "socket" in sink ? sink.socket : sink;
  held?.cork();
  let isFlowing = true;
  for (const part of parts) isFlowing = sink.write(part);
  held?.uncork();
  return isFlowing;
};
