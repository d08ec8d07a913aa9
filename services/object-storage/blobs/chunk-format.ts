import type { KeyObject } from "node:crypto";
import { createCipheriv, createDecipheriv } from "node:crypto";
import { crc32 } from "node:zlib";

import { lendToFree } from "../../kit/wire/lent-memory.ts";

/**
 * How a blob file is laid out: chunk after chunk, each followed by what protects it. Reading a range needs only the
 * chunks that it overlaps. Files are of two formats, each in a directory of its own.
 *
 * The second, which all new files have, is encrypted:
 *
 *     | 262,144 bytes | tag | CRC32 | … | 1 to 262,144 bytes | tag | CRC32 |
 *
 * A chunk is AES-256-GCM ciphertext under the blob's own data key. The nonce is the chunk's number, which is unique
 * because a blob is written once; the blob's id and the number are authenticated with it, so a chunk does not open in
 * another position or file. The tag has 16 bytes. The checksum covers the same id and number, the ciphertext and the
 * tag; it is for whoever has no key, such as the check of all stored data, and a reader with the key does not compute
 * it.
 *
 * The first has no tag, and its bytes are the content itself. It is read and never written.
 *
 *     | 262,144 bytes | CRC32 | … | 1 to 262,144 bytes | CRC32 |
 *
 * Checksums have 4 bytes, big-endian. CRC32 by zlib runs at 6.8 GB/s on the development machine, CRC32C by WebAssembly
 * at 2.5, which is why the checksum at rest is not one of the API's own.
 */
export const chunkBytes = 256 * 1024;
const checksumBytes = 4;
const tagBytes = 16;
const nonceBytes = 12;
/** The bytes that a full encrypted chunk occupies in the file. */
export const sealedChunkBytes = chunkBytes + tagBytes + checksumBytes;
const cipherName = "aes-256-gcm";

/** One chunk that was read back: its bytes, or why they cannot be returned. */
export type OpenedChunk = { readonly bytes: Buffer } | { readonly fault: string };

/** How the chunks of one file are read. */
export interface ChunkReader {
  /** The bytes that a full chunk occupies in the file. */
  readonly storedChunkBytes: number;
  /** Opened bytes are a copy, and not a view of the stored ones. */
  readonly isCopying: boolean;
  /** Verifies one chunk, of which `stored` is everything in the file, and returns its bytes. */
  open(chunk: number, stored: Buffer): OpenedChunk;
}

/** Encrypts one chunk. */
export interface ChunkWriter {
  /** The bytes to store for further content, in lent memory. */
  add(content: Uint8Array): Uint8Array;
  /** The bytes to store after the chunk. */
  end(): Uint8Array;
}

/** The number of the chunk that holds a byte of the content. */
export const chunkOf = (contentOffset: number): number => Math.floor(contentOffset / chunkBytes);

/** Writes a chunk of a blob with its data key. */
export const writeChunk = (blobId: string, chunk: number, key: KeyObject): ChunkWriter => {
  const name = nameOf(blobId, chunk);
  const cipher = createCipheriv(cipherName, key, nonceOf(chunk)).setAAD(Buffer.from(name));
  let checksum = crc32(name);
  return {
    add: (content) => {
      const stored = cipher.update(content);
      lendToFree(stored);
      checksum = crc32(stored, checksum);
      return stored;
    },
    end: () => {
      cipher.final();
      const end = Buffer.allocUnsafe(tagBytes + checksumBytes);
      end.set(cipher.getAuthTag());
      end.writeUInt32BE(crc32(end.subarray(0, tagBytes), checksum), tagBytes);
      return end;
    },
  };
};

/** Reads the content of an encrypted blob. */
export const sealedChunks = (blobId: string, key: KeyObject): ChunkReader => {
  const stored = storedChunks(blobId);
  return {
    storedChunkBytes: stored.storedChunkBytes,
    isCopying: true,
    open: (chunk, read) => {
      const tagAt = read.length - tagBytes - checksumBytes;
      if (tagAt <= 0) return { fault: "the file ends before it" };
      const decipher = createDecipheriv(cipherName, key, nonceOf(chunk), { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(nameOf(blobId, chunk)));
      decipher.setAuthTag(read.subarray(tagAt, tagAt + tagBytes));
      const bytes = decipher.update(read.subarray(0, tagAt));
      try {
        decipher.final();
      } catch {
        const damaged = stored.open(chunk, read);
        return "fault" in damaged ? damaged : { fault: "it was encrypted with another key" };
      }
      return { bytes };
    },
  };
};

/** Reads the ciphertext of an encrypted blob, verified by its checksums, so without a key. */
export const storedChunks = (blobId: string): ChunkReader => checkedChunks(blobId, tagBytes);

/** Reads the content of a blob of the first format. */
export const plainChunks = (blobId: string): ChunkReader => checkedChunks(blobId, 0);

/** Chunks that are verified by their checksums, and of which all but the last bytes are returned. */
const checkedChunks = (blobId: string, lastBytes: number): ChunkReader => ({
  storedChunkBytes: chunkBytes + lastBytes + checksumBytes,
  isCopying: false,
  open: (chunk, stored) => {
    const checksumAt = stored.length - checksumBytes;
    if (checksumAt <= lastBytes) return { fault: "the file ends before it" };
    if (crc32(stored.subarray(0, checksumAt), crc32(nameOf(blobId, chunk))) !== stored.readUInt32BE(checksumAt))
      return { fault: "its checksum does not hold" };
    return { bytes: stored.subarray(0, checksumAt - lastBytes) };
  },
});

/** A chunk's position, which its checksum begins with and its tag authenticates. */
const nameOf = (blobId: string, chunk: number): string => `${blobId}/${chunk}`;

const nonceOf = (chunk: number): Buffer => {
  const nonce = Buffer.alloc(nonceBytes);
  nonce.writeUInt32BE(chunk, nonceBytes - 4);
  return nonce;
};
