import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

import { ConfigError } from "./config-error.ts";

/** In bytes: far above any real file; a larger one was named by mistake. */
const fileBytesMax = 16 * 1024 * 1024;
const chunkBytes = 64 * 1024;

/**
 * The text of a file that an operator names or keeps, up to 16 MiB or as many bytes as are given; undefined if there is
 * none. Throws ConfigError with the path and the reason for one that cannot be read, is larger, or is no regular file:
 * reading a pipe or a device could last for ever.
 */
export const readTextFile = (path: string, bytesMax: number = fileBytesMax): string | undefined => {
  try {
    return textOf(path, bytesMax);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new ConfigError(`${path} cannot be read${code === undefined ? "" : `: ${code}`}`, { cause: error });
  }
};

/** The same for a file that must exist. */
export const readNamedFile = (path: string, bytesMax?: number): string => {
  const text = readTextFile(path, bytesMax);
  if (text === undefined) throw new ConfigError(`${path} does not exist`);
  return text;
};

const textOf = (path: string, bytesMax: number): string => {
  // Opening a pipe to which nobody writes would wait otherwise.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(file);
    if (stat.isDirectory()) throw new ConfigError(`${path} is a directory`);
    if (!stat.isFile()) throw new ConfigError(`${path} is not a regular file`);
    const chunks: Buffer[] = [];
    for (let bytes = 0; ;) {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      const length = readSync(file, chunk);
      if (length === 0) return Buffer.concat(chunks, bytes).toString("utf8");
      bytes += length;
      if (bytes > bytesMax) throw new ConfigError(`${path} has more than ${bytesMax} bytes`);
      chunks.push(chunk.subarray(0, length));
    }
  } finally {
    closeSync(file);
  }
};
