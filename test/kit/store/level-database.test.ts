import { expect, onTestFinished, test } from "vitest";

import { collector } from "../../../services/kit/process/collector.ts";
import { LevelDatabase } from "../../../services/kit/store/level-database.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

type Resource = Parameters<LevelDatabase["attachResource"]>[0];

const open = async (): Promise<LevelDatabase> => {
  const database = new LevelDatabase(await temporaryDirectory(), { keyEncoding: "buffer", valueEncoding: "buffer" });
  await database.open();
  return database;
};

test("leaves what was opened and closed to the quick collections of new objects", async () => {
  const collect = collector();
  const database = await open();
  onTestFinished(() => database.close());
  const waiting: Resource[] = [];
  const passThrough = (count: number): void => {
    for (let passed = 0; passed < count; passed += 1) {
      const close = () => Promise.resolve();
      const held = Array.from({ length: 1_000 }, () => passed);
      const resource: Resource = Object.assign({ close, [Symbol.asyncDispose]: close }, { held });
      database.attachResource(resource);
      waiting.push(resource);
      if (waiting.length > 16) database.detachResource(waiting.shift()!);
    }
  };
  passThrough(100);
  // What lives long is in the old generation, where only this collection looks.
  collect({ type: "major", execution: "sync" });
  const before = process.memoryUsage().heapUsed;
  for (let round = 0; round < 20; round += 1) {
    passThrough(500);
    collect({ type: "minor", execution: "sync" });
  }
  // 80 MB passed through; a Set holds 40 of them.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000);
});

test("closes what is open when it closes", async () => {
  const database = await open();
  const [iterator, snapshot] = [database.iterator(), database.snapshot()];
  await database.close();
  await expect(iterator.next()).rejects.toThrow("Iterator is not open");
  expect(() => snapshot.ref()).toThrow("Snapshot is not open");
});
