import { crc32 } from "node:zlib";

/**
 * How a blob file is laid out: chunk after chunk, each followed by its checksum.
 *
 *     | 262,144 bytes | CRC32 | 262,144 bytes | CRC32 | … | 1 to 262,144 bytes | CRC32 |
 *
 * The checksum (4 bytes, big-endian) covers the blob's id, the chunk's number and then the chunk's bytes, so a chunk in
 * another position or file fails the check as one with a flipped bit does. Reading a range needs only the chunks that
 * it overlaps. CRC32 by zlib runs at 6.8 GB/s on the development machine, CRC32C by WebAssembly at 2.5, which is why
 * the checksum at rest is not one of the API's own.
 */
export const chunkBytes = 256 * 1024;
const checksumBytes = 4;
const storedChunkBytes = chunkBytes + checksumBytes;

/** The checksum of the id and number that a chunk's checksum begins with. */
export const chunkSeed = (blobId: string, chunk: number): number => crc32(`${blobId}/${chunk}`);

/** The checksum `before` extended by further bytes. */
export const extendChecksum = (bytes: Uint8Array, before: number): number => crc32(bytes, before);

/** The checksum as it is stored after its chunk. */
export const encodeChecksum = (checksum: number): Uint8Array => {
  const encoded = Buffer.allocUnsafe(checksumBytes);
  encoded.writeUInt32BE(checksum);
  return encoded;
};

/** The number of the chunk that holds a byte of the content. */
export const chunkOf = (contentOffset: number): number => Math.floor(contentOffset / chunkBytes);

/** Where a chunk begins in the file. */
export const filePosition = (chunk: number): number => chunk * storedChunkBytes;

/** The bytes that consecutive chunks occupy in a file; the last one possibly fewer. */
export const storedBytes = (count: number): number => count * storedChunkBytes;

/** One chunk that was read back: its bytes, or why they cannot be returned. */
export type OpenedChunk = { readonly bytes: Buffer } | { readonly fault: string };

/** Verifies the chunk that begins at `at` in the bytes read from the file, and returns its bytes. */
export const openChunk = (blobId: string, chunk: number, read: Buffer, at: number): OpenedChunk => {
  const end = Math.min(at + storedChunkBytes, read.length);
  const size = end - at - checksumBytes;
  if (size <= 0) return { fault: "the file ends before it" };
  const bytes = read.subarray(at, at + size);
  if (crc32(bytes, chunkSeed(blobId, chunk)) !== read.readUInt32BE(at + size))
    return { fault: "its checksum does not hold" };
  return { bytes };
};
