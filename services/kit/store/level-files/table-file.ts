import { ByteCursor } from "./byte-cursor.ts";
import { maskedCrc32c } from "./crc32c.ts";
import { messageOfDamage } from "./file-damage.ts";
import { unsnap } from "./snappy.ts";
import { internalSuffixBytes } from "./version.ts";

/*
 * LevelDB's table format: data blocks, a filter block, a block that names the filter, an index block, a footer of 48
 * bytes that says where the last two are. After each block follow its compression (1 byte) and the CRC-32C of both.
 */
const footerBytes = 48;
const trailerBytes = 5;
const magic = Buffer.from("57fb808b247547db", "hex");
const uncompressed = 0;
const snappy = 1;

interface Handle {
  readonly offset: number;
  readonly length: number;
}

/** One key of a table, without what LevelDB adds to it, and its value. */
export interface TableEntry {
  readonly key: Buffer;
  readonly value: Buffer;
}

/** Checks every block of a table against its checksum. Returns why the file is damaged; undefined: it is whole. */
export const findTableDamage = (file: Buffer): string | undefined => {
  try {
    const { index, metaIndex } = readFooter(file);
    for (const handle of [...handlesOf(readBlock(file, metaIndex)), ...handlesOf(readBlock(file, index))])
      checkedBlock(file, handle);
    return undefined;
  } catch (error) {
    return messageOfDamage(error);
  }
};

/** The first entry of a table; the newest, where its key has several. Throws RangeError when it cannot be read. */
export const firstEntry = (file: Buffer): TableEntry | undefined => {
  const [handle] = handlesOf(readBlock(file, readFooter(file).index));
  const [entry] = handle === undefined ? [] : entriesOf(readBlock(file, handle));
  return entry && { key: entry.key.subarray(0, -internalSuffixBytes), value: entry.value };
};

const readFooter = (file: Buffer): { readonly metaIndex: Handle; readonly index: Handle } => {
  const footer = file.subarray(-footerBytes);
  if (footer.byteLength < footerBytes || !footer.subarray(-magic.byteLength).equals(magic))
    throw new RangeError("it does not end as a table does");
  const cursor = new ByteCursor(footer);
  return { metaIndex: readHandle(cursor), index: readHandle(cursor) };
};

const readHandle = (cursor: ByteCursor): Handle => ({ offset: cursor.varint(), length: cursor.varint() });

const checkedBlock = (file: Buffer, { offset, length }: Handle): Buffer => {
  const end = offset + length + trailerBytes;
  if (end > file.byteLength) throw new RangeError(`the block at ${offset} is cut off`);
  const content = file.subarray(offset, end - 4);
  if (maskedCrc32c(content) !== file.readUInt32LE(end - 4))
    throw new RangeError(`the block at ${offset} does not have its checksum`);
  return content;
};

const readBlock = (file: Buffer, handle: Handle): Buffer => {
  const content = checkedBlock(file, handle);
  const block = content.subarray(0, -1);
  const compression = content.at(-1);
  if (compression === uncompressed) return block;
  if (compression !== snappy) throw new RangeError(`the block at ${handle.offset} has compression ${compression}`);
  return unsnap(block);
};

const handlesOf = (block: Buffer): Handle[] =>
  [...entriesOf(block)].map(({ value }) => readHandle(new ByteCursor(value)));

/** Keys share their beginning with the one before; the block ends with offsets of whole keys and their number. */
function* entriesOf(block: Buffer): Generator<TableEntry> {
  if (block.byteLength < 4) throw new RangeError("a block is cut off");
  const restartCount = block.readUInt32LE(block.byteLength - 4);
  const entries = new ByteCursor(block.subarray(0, Math.max(0, block.byteLength - 4 * (restartCount + 1))));
  let key: Buffer = Buffer.alloc(0);
  while (!entries.isAtEnd) {
    const shared = entries.varint();
    const added = entries.varint();
    const valueBytes = entries.varint();
    key = Buffer.concat([key.subarray(0, shared), entries.take(added)]);
    yield { key, value: entries.take(valueBytes) };
  }
}
