import { loadCrc32c, maskedCrc32c } from "../../../../services/kit/store/level-files/crc32c.ts";

/* The files of LevelDB, written byte by byte, so that each of their parts can be wrong. */

await loadCrc32c();

/** A number of less than 2^14 as LevelDB writes it. */
export const varint = (value: number): Buffer =>
  Buffer.from(value < 0x80 ? [value] : [(value & 0x7f) | 0x80, value >>> 7]);

/** Bytes after their number. */
export const prefixed = (bytes: string | Buffer): Buffer => {
  const content = Buffer.from(bytes as string);
  return Buffer.concat([varint(content.byteLength), content]);
};

/** The types of physical records in the log format. */
export const recordTypes = { full: 1, first: 2, middle: 3, last: 4 } as const;

/** A physical record of the log format. */
export const physicalRecord = (payload: string | Buffer, type: number = recordTypes.full): Buffer => {
  const content = Buffer.concat([Buffer.from([type]), Buffer.from(payload as string)]);
  const header = Buffer.alloc(6);
  header.writeUInt32LE(maskedCrc32c(content));
  header.writeUInt16LE(content.byteLength - 1, 4);
  return Buffer.concat([header, content]);
};

/** The key of a table's entry, with the sequence number and kind that LevelDB adds. */
export const internalKey = (key: string): Buffer => Buffer.concat([Buffer.from(key, "latin1"), Buffer.alloc(8, 1)]);

interface Handle {
  readonly offset: number;
  readonly length: number;
}

const handleBytes = ({ offset, length }: Handle): Buffer => Buffer.concat([varint(offset), varint(length)]);

/** The content of a block with entries, whose keys share nothing. */
export const blockOf = (entries: readonly (readonly [Buffer, Buffer])[]): Buffer => {
  const written = entries.map(([key, value]) =>
    Buffer.concat([varint(0), varint(key.byteLength), varint(value.byteLength), key, value]),
  );
  const restarts = Buffer.from([0, 0, 0, 0, 1, 0, 0, 0]);
  return Buffer.concat([...written, restarts]);
};

const magic = Buffer.from("57fb808b247547db", "hex");

/** A table of one data block. `compression`: the type that follows this block, whose content is left as it is. */
export const tableOf = (data: Buffer, compression = 0): Buffer => {
  const parts: Buffer[] = [];
  const add = (content: Buffer, type: number): Handle => {
    const offset = parts.reduce((sum, part) => sum + part.byteLength, 0);
    const checked = Buffer.concat([content, Buffer.from([type])]);
    const checksum = Buffer.alloc(4);
    checksum.writeUInt32LE(maskedCrc32c(checked));
    parts.push(checked, checksum);
    return { offset, length: content.byteLength };
  };
  const block = add(data, compression);
  const metaIndex = add(blockOf([]), 0);
  const index = add(blockOf([[internalKey("z"), handleBytes(block)]]), 0);
  const handles = Buffer.concat([handleBytes(metaIndex), handleBytes(index)]);
  return Buffer.concat([...parts, handles, Buffer.alloc(40 - handles.byteLength), magic]);
};

const numbers = { logNumber: 2, nextFileNumber: 3, lastSequence: 4, previousLogNumber: 9 } as const;

/** The parts of a manifest's edits. */
export const edits = {
  comparator: Buffer.concat([varint(1), prefixed("leveldb.BytewiseComparator")]),
  number: (name: keyof typeof numbers, value: number): Buffer => Buffer.concat([varint(numbers[name]), varint(value)]),
  compactPointer: (level: number, key: string): Buffer =>
    Buffer.concat([varint(5), varint(level), prefixed(internalKey(key))]),
  deleted: (level: number, file: number): Buffer => Buffer.concat([varint(6), varint(level), varint(file)]),
  /** A table of `sizeBytes`; 300, if it is not set. */
  added: (level: number, file: number, smallest: string, largest: string, sizeBytes = 300): Buffer =>
    Buffer.concat([
      ...[7, level, file, sizeBytes].map(varint),
      prefixed(internalKey(smallest)),
      prefixed(internalKey(largest)),
    ]),
};
