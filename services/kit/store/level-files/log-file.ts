import { maskedCrc32c } from "./crc32c.ts";

/*
 * LevelDB's log format, in which `*.log` and `MANIFEST-*` are written: blocks of 32 KiB that hold physical records of
 * CRC-32C (4 bytes), length (2), type (1) and payload. A logical record is one FULL physical record or a FIRST, any
 * number of MIDDLE and a LAST one. Fewer than 7 bytes at the end of a block are zero.
 */
const blockBytes = 32 * 1024;
const headerBytes = 7;
const full = 1;
const first = 2;
const last = 4;
/** In a list of fragments: here something was not readable, so that a record begun before is not continued after it. */
const gap = 0;

/** One logical record. */
export interface LogRecord {
  /** Where its first physical record begins in the file. */
  readonly offset: number;
  readonly payload: Uint8Array;
}

/** Bytes of a file that are not as they were written. */
export interface DamagedBytes {
  readonly offset: number;
  readonly length: number;
}

/** The contents of a file in the log format. */
export interface LogContents {
  /** The records that LevelDB's own recovery returns, in their order. */
  readonly records: readonly LogRecord[];
  /**
   * The bytes that it skips although records were written after them. Skipped bytes at the end of the file are a
   * write that was never completed, and are not listed.
   */
  readonly damages: readonly DamagedBytes[];
}

interface Fragment {
  readonly offset: number;
  readonly type: number;
  readonly payload: Uint8Array;
  /** LevelDB does not see it, because it skips the rest of a block after the first damaged record. */
  readonly isSkipped: boolean;
}

/** Reads a whole file in the log format, exactly as LevelDB's recovery does, and finds what that leaves out. */
export const readLog = (file: Uint8Array): LogContents => {
  const fragments: Fragment[] = [];
  const damages: DamagedBytes[] = [];
  for (let begin = 0; begin < file.byteLength; begin += blockBytes) {
    const block = file.subarray(begin, begin + blockBytes);
    const end = readBlock(block, 0, begin, false, fragments);
    if (block.byteLength - end < headerBytes && block.byteLength === blockBytes) continue;
    if (end < block.byteLength) {
      damages.push({ offset: begin + end, length: block.byteLength - end });
      fragments.push({ offset: begin + end, type: gap, payload: new Uint8Array(), isSkipped: false });
      findSkipped(block, end + 1, begin, fragments);
    }
  }
  const written = assemble(fragments);
  const lastOffset = written.at(-1)?.offset ?? -1;
  return {
    records: assemble(fragments.filter(({ isSkipped }) => !isSkipped)),
    damages: damages.filter(({ offset }) => offset < lastOffset),
  };
};

/** Reads physical records from `at` until one is not whole; returns where that one begins in the block. */
const readBlock = (
  block: Uint8Array,
  at: number,
  blockOffset: number,
  isSkipped: boolean,
  fragments: Fragment[],
): number => {
  let next = at;
  for (;;) {
    const payload = readPhysical(block, next);
    if (payload === undefined) return next;
    fragments.push({ offset: blockOffset + next, type: block[next + 6] as number, payload, isSkipped });
    next += headerBytes + payload.byteLength;
  }
};

const readPhysical = (block: Uint8Array, at: number): Uint8Array | undefined => {
  if (at + headerBytes > block.byteLength) return undefined;
  const header = Buffer.from(block.buffer, block.byteOffset + at, headerBytes);
  const type = header[6] as number;
  const end = at + headerBytes + header.readUInt16LE(4);
  if (type < full || type > last || end > block.byteLength) return undefined;
  if (maskedCrc32c(block.subarray(at + 6, end)) !== header.readUInt32LE(0)) return undefined;
  return block.subarray(at + headerBytes, end);
};

/** Finds the whole physical records in a part of a block whose beginning is damaged, so their offsets are unknown. */
const findSkipped = (block: Uint8Array, from: number, blockOffset: number, fragments: Fragment[]): void => {
  let at = from;
  while (at + headerBytes <= block.byteLength)
    at = Math.max(at + 1, readBlock(block, at, blockOffset, true, fragments));
};

/** Joins physical records to logical ones; fragments without their beginning or end are left out. */
const assemble = (fragments: readonly Fragment[]): LogRecord[] => {
  const records: LogRecord[] = [];
  let begun: Fragment[] = [];
  for (const fragment of fragments) {
    if (fragment.type === gap) begun = [];
    else if (fragment.type === full || fragment.type === first) begun = [fragment];
    else if (begun.length > 0) begun.push(fragment);
    if ((fragment.type !== full && fragment.type !== last) || begun.length === 0) continue;
    const offset = (begun[0] as Fragment).offset;
    const payload = begun.length === 1 ? fragment.payload : Buffer.concat(begun.map((each) => each.payload));
    records.push({ offset, payload });
    begun = [];
  }
  return records;
};
