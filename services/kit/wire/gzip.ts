import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";

import { Code } from "@connectrpc/connect";

import { tooLarge } from "./frame-parser.ts";
import { malformed, ProtocolError } from "./protocol-error.ts";

/** Smaller messages are not compressed: it would cost more than it saves. */
export const gzipBytesMin = 1024;

/** Larger messages are not compressed: they are bodies, mostly compressed already, and would occupy the CPU. */
export const gzipBytesMax = 1024 * 1024;

const gunzipBytes = promisify(gunzip);

/** At the fastest level, which saves most of the bytes at little cost. */
export const compress = (bytes: Uint8Array): Promise<Buffer> => promisify(gzip)(bytes, { level: 1 });

/** Refuses a result over the limit before it is that large. */
export const decompress = async (bytes: Uint8Array, limitBytes: number): Promise<Buffer> => {
  try {
    return await gunzipBytes(bytes, { maxOutputLength: Math.max(1, limitBytes) });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(limitBytes);
    throw malformed("The message is not valid gzip.");
  }
};

/** True if a list like `identity, gzip;q=0.5` names gzip and does not exclude it. */
export const acceptsGzip = (header: string | undefined): boolean =>
  header !== undefined && header.split(",").some(namesGzip);

const namesGzip = (item: string): boolean => {
  const [coding, ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
  if (coding !== "gzip" && coding !== "x-gzip") return false;
  return !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
};

/** The encoding of a request: true for gzip, false for identity. Refuses all others. */
export const isGzipEncoded = (encoding: string | undefined): boolean => {
  if (encoding === undefined || encoding === "" || encoding === "identity") return false;
  if (encoding === "gzip") return true;
  throw new ProtocolError(
    Code.Unimplemented,
    `unknown compression "${encoding}": supported encodings are gzip, identity`,
  );
};
