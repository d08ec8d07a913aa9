import { ByteCursor } from "./byte-cursor.ts";

/** Sequence number (8 bytes) and count (4 bytes). */
const headerBytes = 12;
const deletion = 0;

/** One write of a batch; `value` undefined deletes. */
export interface BatchWrite {
  readonly key: Buffer;
  readonly value: Buffer | undefined;
}

/** The writes of a batch as LevelDB keeps it in its log. Throws RangeError when it is malformed. */
export const readBatch = (payload: Uint8Array): BatchWrite[] => {
  const cursor = new ByteCursor(payload);
  cursor.take(headerBytes);
  const writes: BatchWrite[] = [];
  while (!cursor.isAtEnd) {
    const kind = cursor.byte();
    writes.push({ key: cursor.lengthPrefixed(), value: kind === deletion ? undefined : cursor.lengthPrefixed() });
  }
  return writes;
};
