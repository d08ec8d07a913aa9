import { crc32 } from "node:zlib";

/**
 * How a blob file is laid out: chunk after chunk, each followed by its checksum.
 *
 *     | 262,144 bytes | CRC32 | 262,144 bytes | CRC32 | … | 1 to 262,144 bytes | CRC32 |
 *
 * The checksum (4 bytes, big-endian) covers the blob's id and the chunk's number before the chunk's bytes, so a chunk
 * that turns up in another place or file is as wrong as one with a turned bit. A stretch needs only the chunks that
 * it touches. CRC32 by zlib runs at 6.8 GB/s on the development machine, CRC32C by WebAssembly at 2.5, which is why
 * the checksum at rest is not one of the API's own.
 */
export const chunkBytes = 256 * 1024;
export const checksumBytes = 4;
const storedChunkBytes = chunkBytes + checksumBytes;

/** What the checksum of a chunk begins with. */
export const chunkSeed = (blobId: string, chunk: number): number => crc32(`${blobId}/${chunk}`);

/** The checksum of the bytes that come after those of `before`. */
export const extendChecksum = (bytes: Uint8Array, before: number): number => crc32(bytes, before);

/** The checksum as it stands behind its chunk. */
export const encodeChecksum = (checksum: number): Uint8Array => {
  const encoded = Buffer.allocUnsafe(checksumBytes);
  encoded.writeUInt32BE(checksum);
  return encoded;
};

/** The number of the chunk that a byte of the content lies in. */
export const chunkOf = (contentOffset: number): number => Math.floor(contentOffset / chunkBytes);

/** Where a chunk begins in the file. */
export const filePosition = (chunk: number): number => chunk * storedChunkBytes;

/** The bytes that chunks `first` to `first + count - 1` of a file take up, the last possibly less. */
export const storedBytes = (count: number): number => count * storedChunkBytes;

/** One chunk that was read back: its bytes, or why they cannot be given out. */
export type OpenedChunk = { readonly bytes: Buffer } | { readonly fault: string };

/** Takes the chunk apart that begins at `at` in what was read from the file, and verifies it. */
export const openChunk = (blobId: string, chunk: number, read: Buffer, at: number): OpenedChunk => {
  const end = Math.min(at + storedChunkBytes, read.length);
  const size = end - at - checksumBytes;
  if (size <= 0) return { fault: "the file ends before it" };
  const bytes = read.subarray(at, at + size);
  if (crc32(bytes, chunkSeed(blobId, chunk)) !== read.readUInt32BE(at + size))
    return { fault: "its checksum does not hold" };
  return { bytes };
};
