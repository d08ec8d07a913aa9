import { crc32 } from "node:zlib";

import { bytesOf, byteStringOf } from "../store/byte-string.ts";
import type { RawEntry } from "../store/engine.ts";

/**
 * A file of records in the order of their keys, which is also how they are exported. It begins with a line that names
 * the form; then each record is
 *
 *     | length of the key (4) | length of the payload (4) | CRC-32 (4) | key | payload |
 *
 * with big-endian numbers and a checksum over both lengths, key and payload. The last entry has an empty key and the
 * number of records (8) as its payload, so a file that was cut off is found.
 */
const beginning = Buffer.from("quartet-records 1\n");
const headBytes = 12;
/** No key and no transaction is larger, so nothing larger is read into memory. */
const keyBytesMax = 1024 * 1024;
const payloadBytesMax = 64 * 1024 * 1024;

/** A file of records is not as it was written. */
export class RecordFileError extends Error {
  override readonly name = "RecordFileError";
}

/** The bytes before the first record. */
export const recordFileStart = (): Buffer => beginning;

/** The bytes of one record. */
export const encodeEntry = ({ key, payload }: RawEntry): Buffer => encode(bytesOf(key), payload);

/** The bytes after the last record. */
export const recordFileEnd = (count: number): Buffer => {
  const payload = Buffer.alloc(8);
  payload.writeBigUInt64BE(BigInt(count));
  return encode(Buffer.alloc(0), payload);
};

const encode = (key: Buffer, payload: Uint8Array): Buffer => {
  const encoded = Buffer.allocUnsafe(headBytes + key.byteLength + payload.byteLength);
  encoded.writeUInt32BE(key.byteLength, 0);
  encoded.writeUInt32BE(payload.byteLength, 4);
  encoded.set(key, headBytes);
  encoded.set(payload, headBytes + key.byteLength);
  encoded.writeUInt32BE(crc32(encoded.subarray(headBytes), crc32(encoded.subarray(0, 8))), 8);
  return encoded;
};

/** Reads a file of records piece by piece; holds one record and one piece. */
export class RecordFileReader {
  #waiting: Buffer[] = [];
  #bytes = 0;
  #needed = beginning.byteLength;
  #isBegun = false;
  #count = 0;
  #isEnded = false;

  /** The records that are complete with this piece. Throws RecordFileError. */
  *add(piece: Uint8Array): Generator<RawEntry, void> {
    this.#waiting.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
    this.#bytes += piece.byteLength;
    if (this.#bytes < this.#needed) return;
    let rest: Buffer = this.#waiting.length === 1 ? (this.#waiting[0] as Buffer) : Buffer.concat(this.#waiting);
    while (rest.byteLength >= this.#needed) {
      if (!this.#isBegun) {
        if (!rest.subarray(0, beginning.byteLength).equals(beginning)) throw damaged("it does not begin as one");
        this.#isBegun = true;
        rest = rest.subarray(beginning.byteLength);
        this.#needed = headBytes;
        continue;
      }
      const size = this.#sizeOf(rest);
      if (rest.byteLength < size) {
        this.#needed = size;
        break;
      }
      const entry = this.#open(rest.subarray(0, size));
      rest = rest.subarray(size);
      this.#needed = headBytes;
      if (entry !== undefined) yield entry;
    }
    if (this.#isEnded && rest.byteLength > 0) throw damaged("bytes follow its end");
    this.#waiting = rest.byteLength === 0 ? [] : [rest];
    this.#bytes = rest.byteLength;
  }

  /** How many records there were. Throws RecordFileError if the file ended before its end. */
  end(): number {
    if (!this.#isEnded) throw damaged(`it was cut off after ${this.#count} records`);
    return this.#count;
  }

  #sizeOf(rest: Buffer): number {
    if (this.#isEnded) throw damaged("bytes follow its end");
    const [keyBytes, payloadBytes] = [rest.readUInt32BE(0), rest.readUInt32BE(4)];
    if (keyBytes > keyBytesMax || payloadBytes > payloadBytesMax) throw this.#damagedRecord();
    return headBytes + keyBytes + payloadBytes;
  }

  #open(encoded: Buffer): RawEntry | undefined {
    if (encoded.readUInt32BE(8) !== crc32(encoded.subarray(headBytes), crc32(encoded.subarray(0, 8))))
      throw this.#damagedRecord();
    const payloadAt = headBytes + encoded.readUInt32BE(0);
    const payload = encoded.subarray(payloadAt);
    if (payloadAt > headBytes) {
      this.#count += 1;
      return { key: byteStringOf(encoded.subarray(headBytes, payloadAt)), payload };
    }
    if (payload.byteLength !== 8 || payload.readBigUInt64BE() !== BigInt(this.#count))
      throw damaged("records are missing");
    this.#isEnded = true;
    return undefined;
  }

  #damagedRecord(): RecordFileError {
    return damaged(`record ${this.#count + 1} is not as it was written`);
  }
}

const damaged = (how: string): RecordFileError => new RecordFileError(`the file of records is damaged: ${how}`);
