import { crc32 } from "node:zlib";

/** Text headers of an event by name, in the order in which they are written. */
export type EventHeaders = Readonly<Record<string, string>>;

/** The type of a header whose value is a text: two bytes of its length, and the text in UTF-8. */
const textType = 7;

/** Both lengths and their checksum. */
const preludeBytes = 12;
const checksumBytes = 4;

/**
 * One message of `application/vnd.amazon.eventstream`: the whole length, the length of the headers and the CRC32 of
 * both; the headers; the payload; the CRC32 of all before it. Numbers are big-endian, lengths are in bytes.
 */
export const eventFrame = (headers: EventHeaders, payload: Uint8Array): Buffer[] => {
  const encoded = Buffer.concat(Object.entries(headers).map(([name, value]) => encodeHeader(name, value)));
  const head = Buffer.alloc(preludeBytes + encoded.length);
  head.writeUInt32BE(head.length + payload.length + checksumBytes, 0);
  head.writeUInt32BE(encoded.length, 4);
  head.writeUInt32BE(crc32(head.subarray(0, 8)), 8);
  encoded.copy(head, preludeBytes);
  const checksum = Buffer.alloc(checksumBytes);
  checksum.writeUInt32BE(crc32(payload, crc32(head)));
  return [head, Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength), checksum];
};

const encodeHeader = (name: string, value: string): Buffer => {
  const [nameBytes, valueBytes] = [Buffer.from(name), Buffer.from(value)];
  const lengths = Buffer.from([textType, valueBytes.length >> 8, valueBytes.length & 255]);
  return Buffer.concat([Buffer.from([nameBytes.length]), nameBytes, lengths, valueBytes]);
};
