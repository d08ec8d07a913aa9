import { bytesOf } from "./byte-string.ts";

/**
 * What each group carries inside its batch: its number and when it was written. All groups write it under one key, so
 * that a database holds the newest; its log holds each one's.
 */
export interface GroupMark {
  /** 1 for the first group of a database, and one more for each further group. 0: before the first. */
  readonly number: number;
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly timeMs: number;
}

/** The mark of a database without groups. */
export const noGroup: GroupMark = { number: 0, timeMs: 0 };

/** No table has this key, because tables begin at number 1; so it is also the least key of a database. */
export const groupKey: Buffer = bytesOf("\u0000\u0000group");

export const groupMarkBytes = 16;

/**
 * Two numbers of 8 bytes, big-endian. Without a checksum of its own: it is read only before the database is opened,
 * from files whose checksums are verified then.
 */
export const encodeGroupMark = (group: GroupMark): Buffer => {
  const encoded = Buffer.allocUnsafe(groupMarkBytes);
  writeNumber(encoded, group.number, 0);
  writeNumber(encoded, group.timeMs, 8);
  return encoded;
};

/** Throws RangeError when it is too short. */
export const decodeGroupMark = (encoded: Buffer): GroupMark => ({
  number: readNumber(encoded, 0),
  timeMs: readNumber(encoded, 8),
});

// Two halves take a third of the time that a BigInt takes.
const writeNumber = (target: Buffer, value: number, offset: number): void => {
  target.writeUInt32BE(Math.floor(value / 0x1_0000_0000), offset);
  target.writeUInt32BE(value >>> 0, offset + 4);
};

const readNumber = (source: Buffer, offset: number): number =>
  source.readUInt32BE(offset) * 0x1_0000_0000 + source.readUInt32BE(offset + 4);
