import { systemClock } from "../clock/clock.ts";
import type { ByteString } from "./byte-string.ts";
import type { RawEntry } from "./engine.ts";
import { openLevelEngine } from "./level-engine.ts";
import { defaultLimits } from "./store.ts";

/** Records are written in groups of so many bytes or entries, whichever is reached first. */
const groupBytesMax = 4 * 1024 * 1024;
const groupEntriesMax = 10_000;

/** Creates the database in a directory with these records. They are durable when this resolves. */
export const fillDatabase = async (directory: string, records: AsyncIterable<RawEntry>): Promise<void> => {
  const engine = await openLevelEngine({
    directory,
    sync: true,
    limits: { ...defaultLimits, tableCheckBytesMax: 0 },
    acceptLoss: false,
    clock: systemClock,
    log: undefined,
  });
  try {
    let group = new Map<ByteString, Uint8Array>();
    let bytes = 0;
    for await (const { key, payload } of records) {
      group.set(key, payload);
      bytes += key.length + payload.byteLength;
      if (bytes < groupBytesMax && group.size < groupEntriesMax) continue;
      await engine.write(group);
      group = new Map();
      bytes = 0;
    }
    if (group.size > 0) await engine.write(group);
  } finally {
    await engine.close();
  }
};
