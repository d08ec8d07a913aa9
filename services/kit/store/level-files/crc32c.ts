import type { IHasher } from "hash-wasm";
import { createCRC32 } from "hash-wasm";

/** The reversed polynomial of CRC-32C, which LevelDB uses and `node:zlib` does not offer. */
const castagnoli = 0x82f63b78;
let hasher: IHasher | undefined;

/** Compiles the checksum. Before it the others of this file throw. */
export const loadCrc32c = async (): Promise<void> => {
  hasher ??= await createCRC32(castagnoli);
};

/** The CRC-32C of bytes as LevelDB stores it: rotated and offset, so that a CRC over stored CRCs stays useful. */
export const maskedCrc32c = (bytes: Uint8Array): number => {
  if (hasher === undefined) throw new Error("the checksum is not loaded");
  hasher.init();
  hasher.update(bytes);
  const digest = hasher.digest("binary");
  const crc = ((digest[0]! << 24) | (digest[1]! << 16) | (digest[2]! << 8) | digest[3]!) >>> 0;
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
};
