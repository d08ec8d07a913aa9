import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";

import { refusal } from "../refusal.ts";
import { bunzipped } from "./bunzip.ts";
import { gathered } from "./gathered.ts";

export const compressionTypes = ["NONE", "GZIP", "BZIP2"] as const;
export type CompressionType = (typeof compressionTypes)[number];

/** Bytes of a piece of what is decompressed. */
const pieceBytes = 256 * 1024;

/**
 * The content of a compressed object, piece by piece. Throws INVALID_COMPRESSION_FORMAT if it is not compressed so, and
 * TRUNCATED_INPUT if it ends too early.
 */
export const decompressed = (pieces: AsyncIterable<Buffer>, type: CompressionType): AsyncIterable<Buffer> => {
  if (type === "NONE") return pieces;
  return type === "GZIP" ? gunzipped(pieces) : gathered(bunzipped(pieces));
};

async function* gunzipped(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize: pieceBytes });
  // Its error is thrown where its content is read.
  pipeline(Readable.from(pieces), gunzip, () => {});
  try {
    for await (const piece of gunzip) yield piece as Buffer;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "Z_BUF_ERROR") throw refusal("TRUNCATED_INPUT");
    if (code?.startsWith("Z_") === true)
      throw refusal("INVALID_COMPRESSION_FORMAT", "The object is not in GZIP format.");
    throw error;
  }
}
