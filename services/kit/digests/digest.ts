import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";

import type { CrcModule } from "./crc-module.ts";
import { openCrcModule } from "./crc-module.ts";
import type { IHasher } from "hash-wasm";
import { createCRC32, createXXHash128, createXXHash3, createXXHash64 } from "hash-wasm";

/** The digests that can be computed. */
export const digestAlgorithms = [
  "CRC32",
  "CRC32C",
  "CRC64NVME",
  "SHA1",
  "SHA256",
  "SHA512",
  "MD5",
  "XXHASH64",
  "XXHASH3",
  "XXHASH128",
] as const;

export type DigestAlgorithm = (typeof digestAlgorithms)[number];

/** Bytes of a digest. */
export const digestBytes: Readonly<Record<DigestAlgorithm, number>> = {
  CRC32: 4,
  CRC32C: 4,
  CRC64NVME: 8,
  SHA1: 20,
  SHA256: 32,
  SHA512: 64,
  MD5: 16,
  XXHASH64: 8,
  XXHASH3: 8,
  XXHASH128: 16,
};

/** A digest that is computed piece by piece. */
export interface Digest {
  update(bytes: Uint8Array): void;
  /** The digest, big-endian. Must be the last call. */
  finish(): Uint8Array;
}

/** CRC-32C (Castagnoli) and CRC-64/NVME, bits reversed. */
const crc32cPolynomial = 0x82f63b78;
const crc64NvmePolynomial = 0x9a6c9329ac4bc9b5n;

let crc64Nvme: CrcModule | undefined;

/** Unused WebAssembly hashers: creating one costs as much as hashing some 100 KiB. */
const idle = new Map<DigestAlgorithm, IHasher[]>();
const idleMax = 64;

const openCrc32 = (): Digest => {
  let value = 0;
  return {
    update: (bytes) => {
      value = crc32(bytes, value);
    },
    finish: () => {
      const digest = Buffer.alloc(4);
      digest.writeUInt32BE(value);
      return digest;
    },
  };
};

const openCrc64Nvme = (): Digest => {
  const module = (crc64Nvme ??= openCrcModule(crc64NvmePolynomial));
  const ones = 0xffff_ffff_ffff_ffffn;
  let value = ones;
  return {
    update: (bytes) => {
      value = module.update(value, bytes);
    },
    finish: () => {
      const digest = Buffer.alloc(8);
      digest.writeBigUInt64BE(value ^ ones);
      return digest;
    },
  };
};

const openNative = (name: string): Digest => {
  const hash = createHash(name);
  return { update: (bytes) => void hash.update(bytes), finish: () => hash.digest() };
};

const openWasm = async (algorithm: DigestAlgorithm, create: () => Promise<IHasher>): Promise<Digest> => {
  const free = idle.get(algorithm) ?? [];
  idle.set(algorithm, free);
  const hasher = free.pop() ?? (await create());
  hasher.init();
  return {
    update: (bytes) => void hasher.update(bytes),
    finish: () => {
      const digest = hasher.digest("binary").slice();
      if (free.length < idleMax) free.push(hasher);
      return digest;
    },
  };
};

const openers: Readonly<Record<DigestAlgorithm, () => Digest | Promise<Digest>>> = {
  CRC32: openCrc32,
  CRC32C: () => openWasm("CRC32C", () => createCRC32(crc32cPolynomial)),
  CRC64NVME: openCrc64Nvme,
  SHA1: () => openNative("sha1"),
  SHA256: () => openNative("sha256"),
  SHA512: () => openNative("sha512"),
  MD5: () => openNative("md5"),
  XXHASH64: () => openWasm("XXHASH64", () => createXXHash64()),
  XXHASH3: () => openWasm("XXHASH3", () => createXXHash3()),
  XXHASH128: () => openWasm("XXHASH128", () => createXXHash128()),
};

/** Opens a digest of the algorithm. Every opened digest should be finished, so that its hasher is used again. */
export const openDigest = async (algorithm: DigestAlgorithm): Promise<Digest> => openers[algorithm]();

/** The digest of bytes that are there whole. */
export const digestOf = async (algorithm: DigestAlgorithm, bytes: Uint8Array): Promise<Uint8Array> => {
  const digest = await openDigest(algorithm);
  digest.update(bytes);
  return digest.finish();
};
