import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";

import { Code } from "@connectrpc/connect";

import { tooLarge } from "./frame-parser.ts";
import { malformed, ProtocolError } from "./protocol-error.ts";

/** Messages below this size are sent as they are: compressing them costs more than it saves. */
export const gzipBytesMin = 1024;

/** Messages above this size are sent as they are: they are bodies, mostly compressed already, and would hold up the CPU. */
export const gzipBytesMax = 1024 * 1024;

const gunzipBytes = promisify(gunzip);

/** Fastest level: the aim is less network, not least network. */
export const compress = (bytes: Uint8Array): Promise<Buffer> => promisify(gzip)(bytes, { level: 1 });

/** Refuses what would be larger than the limit before it is that large. */
export const decompress = async (bytes: Uint8Array, limitBytes: number): Promise<Buffer> => {
  try {
    return await gunzipBytes(bytes, { maxOutputLength: Math.max(1, limitBytes) });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(limitBytes);
    throw malformed("The message is not valid gzip.");
  }
};

/** True when a list like `identity, gzip;q=0.5` names gzip and does not rule it out. */
export const acceptsGzip = (header: string | undefined): boolean =>
  header !== undefined && header.split(",").some(namesGzip);

const namesGzip = (item: string): boolean => {
  const [coding, ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
  if (coding !== "gzip" && coding !== "x-gzip") return false;
  return !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
};

/** What the request is encoded with: true for gzip, false for nothing. Refuses all else. */
export const isGzipEncoded = (encoding: string | undefined): boolean => {
  if (encoding === undefined || encoding === "" || encoding === "identity") return false;
  if (encoding === "gzip") return true;
  throw new ProtocolError(
    Code.Unimplemented,
    `unknown compression "${encoding}": supported encodings are gzip, identity`,
  );
};
