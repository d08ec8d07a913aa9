import { Level } from "level";
import { expect, onTestFinished, test } from "vitest";

import { bytesOf } from "../../../services/kit/store/byte-string.ts";
import { LevelSnapshot } from "../../../services/kit/store/level-snapshot.ts";
import { SharedSnapshot } from "../../../services/kit/store/shared-snapshots.ts";
import { sealRecord } from "../../../services/kit/store/record.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

/** A database of so many records whose iterators note how many records each read asks for. */
const openNoting = async (records: number) => {
  const encodings = { keyEncoding: "buffer", valueEncoding: "buffer" } as const;
  const database = new Level<Buffer, Buffer>(await temporaryDirectory(), encodings);
  await database.open();
  onTestFinished(() => database.close());
  const batch = database.batch();
  for (let number = 0; number < records; number += 1) {
    const key = bytesOf(`k${String(number).padStart(5, "0")}`);
    batch.put(key, sealRecord(key, Buffer.from("a")));
  }
  await batch.write();
  const asked: number[] = [];
  const open = database.iterator.bind(database);
  database.iterator = ((options: Parameters<typeof open>[0]) => {
    const iterator = open(options);
    const nextv = iterator.nextv.bind(iterator);
    return Object.assign(iterator, {
      nextv: (count: number) => {
        asked.push(count);
        return nextv(count);
      },
    });
  }) as typeof database.iterator;
  return { database, asked };
};

test.each([
  // expected, reads, pages
  [3, [3], [3]],
  [1_000, [1_000], [1_000]],
  [1_001, [1_000, 1], [1_000, 1]],
  [2_400, [1_000, 1_000, 400], [1_000, 1_000, 400]],
])("a scan of %i records reads no more than those", async (expected, reads, pages) => {
  const { database, asked } = await openNoting(2_500);
  const snapshot = new LevelSnapshot(database, new SharedSnapshot(database));
  const seen: number[] = [];
  let left = expected;
  for await (const page of snapshot.scan({ low: "k", high: "l" }, false, expected)) {
    seen.push(page.length);
    left -= page.length;
    if (left === 0) break;
  }
  await snapshot.close();
  expect(asked).toEqual(reads);
  expect(seen).toEqual(pages);
});

test("a scan that goes on after what was expected reads whole pages", async () => {
  const { database, asked } = await openNoting(1_500);
  const snapshot = new LevelSnapshot(database, new SharedSnapshot(database));
  const seen: number[] = [];
  for await (const page of snapshot.scan({ low: "k", high: "l" }, false, 2)) seen.push(page.length);
  await snapshot.close();
  expect(asked).toEqual([2, 1_000, 1_000, 1_000]);
  expect(seen).toEqual([2, 1_000, 498]);
});
