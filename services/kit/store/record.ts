import { crc32 } from "node:zlib";

import { StoreCorruptionError } from "./errors.ts";

/**
 * A record in the database: one byte for the format (01), the CRC-32 of key and payload (4 bytes, big-endian), the
 * payload. The checksum covers the key, so a value at another's key does not pass.
 */
const formatVersion = 0x01;
const headerBytes = 5;

/**
 * A record of the store itself. It is stored at a key that no table can have while a range is rewritten; readers skip
 * it, and a crash may leave it there.
 */
export const boundaryRecord = Buffer.from("\u0000boundary", "latin1");

export const isBoundary = (record: Buffer): boolean => record[0] === 0x00 && record.equals(boundaryRecord);

/** Wraps a payload for the database. With memory that is large enough, the record is made there. */
export const sealRecord = (key: Uint8Array, payload: Uint8Array, memory?: Buffer): Buffer => {
  const bytes = headerBytes + payload.byteLength;
  const record = memory !== undefined && bytes <= memory.length ? memory.subarray(0, bytes) : Buffer.allocUnsafe(bytes);
  record[0] = formatVersion;
  record.writeUInt32BE(crc32(payload, crc32(key)), 1);
  record.set(payload, headerBytes);
  return record;
};

/**
 * The payload of a record, without copying. Throws StoreCorruptionError if any bit is not as it was written. The key is
 * its bytes, or the text whose UTF-8 they are.
 */
export const openRecord = (key: Uint8Array | string, record: Buffer): Uint8Array => {
  if (record.byteLength < headerBytes) throw damaged(key, "it is shorter than its header");
  if (record[0] !== formatVersion) throw damaged(key, `its format is ${record[0]}, not ${formatVersion}`);
  // A plain Uint8Array, because byte fields of the message become views of it and Buffer's methods differ.
  const payload = new Uint8Array(record.buffer, record.byteOffset + headerBytes, record.byteLength - headerBytes);
  if (record.readUInt32BE(1) !== crc32(payload, crc32(key))) throw damaged(key, "its checksum does not hold");
  return payload;
};

const damaged = (key: Uint8Array | string, reason: string): StoreCorruptionError =>
  new StoreCorruptionError(typeof key === "string" ? Buffer.from(key) : key, reason);
