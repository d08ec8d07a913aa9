import { createHash, hash } from "node:crypto";

import { giveBack, hold } from "../../services/kit/wire/lent-memory.ts";
import { ChunkDecoder } from "./chunk-decoder.ts";
import type { Payload } from "./payload.ts";
import { payloadMismatch } from "./payload.ts";

/** A request's body without its chunk framing. It can be iterated once. */
export interface DecodedBody extends AsyncIterable<Uint8Array> {
  /** Trailers by lower-case name; complete after the iteration. */
  readonly trailers: ReadonlyMap<string, string>;
}

/**
 * Decodes a body according to its payload. Nothing is copied or held back: the pieces are parts of the source's
 * buffers, and lent if those are. A hash or signature is verified only after its last byte, so nothing may become
 * visible before the iteration has ended without throwing a refusal.
 *
 * When it throws, it ends the source's iterator.
 */
export const decodeBody = (payload: Payload, source: AsyncIterable<Uint8Array>): DecodedBody => {
  const trailers = new Map<string, string>();
  const body = open(payload, source, trailers);
  return { trailers, [Symbol.asyncIterator]: () => body[Symbol.asyncIterator]() };
};

const open = (
  payload: Payload,
  source: AsyncIterable<Uint8Array>,
  trailers: Map<string, string>,
): AsyncIterable<Uint8Array> => {
  if (payload.kind === "plain") return source;
  if (payload.kind === "exact") return comparing(payload.sha256, source);
  return decoding(new ChunkDecoder(payload, trailers), source);
};

/** A whole body without its chunk framing, and its trailers by lower-case name. */
export interface DecodedBytes {
  readonly bytes: Uint8Array;
  readonly trailers: ReadonlyMap<string, string>;
}

/** Decodes a body that was read whole. Throws as the iteration of `decodeBody` does. */
export const decodeWhole = (payload: Payload, body: Buffer): DecodedBytes => {
  const trailers = new Map<string, string>();
  if (payload.kind === "chunked") {
    const decoder = new ChunkDecoder(payload, trailers);
    const pieces = [...decoder.take(body)];
    decoder.end();
    const [only] = pieces;
    return { bytes: pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces), trailers };
  }
  if (payload.kind === "exact") compare(payload.sha256, hash("sha256", body, "hex"));
  return { bytes: body, trailers };
};

const compare = (sha256: string, computed: string): void => {
  if (computed !== sha256) throw payloadMismatch(sha256, computed);
};

async function* comparing(sha256: string, source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const running = createHash("sha256");
  for await (const piece of source) {
    running.update(piece);
    yield piece;
  }
  compare(sha256, running.digest("hex"));
}

async function* decoding(decoder: ChunkDecoder, source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of source) {
    for (const part of decoder.take(piece)) {
      hold(part);
      yield part;
    }
    // Each of its parts has a holder of its own.
    giveBack(piece);
  }
  decoder.end();
}
