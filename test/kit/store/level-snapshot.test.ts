import { Level } from "level";
import { describe, expect, onTestFinished, test } from "vitest";

import { bytesOf } from "../../../services/kit/store/byte-string.ts";
import { KnownTables } from "../../../services/kit/store/known-tables.ts";
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
  [1_001, [1_001], [1_001]],
  [2_400, [1_024, 1_024, 352], [1_024, 1_024, 352]],
])("a scan of %i records reads no more than those", async (expected, reads, pages) => {
  const { database, asked } = await openNoting(2_500);
  const snapshot = new LevelSnapshot(database, new SharedSnapshot(database), new KnownTables());
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
  const snapshot = new LevelSnapshot(database, new SharedSnapshot(database), new KnownTables());
  const seen: number[] = [];
  for await (const page of snapshot.scan({ low: "k", high: "l" }, false, 2)) seen.push(page.length);
  await snapshot.close();
  expect(asked).toEqual([2, 1_024, 1_024, 1_024]);
  expect(seen).toEqual([2, 1_024, 474]);
});

describe("a scan of keys that are texts", () => {
  /** A database with records at these keys, of which some are damaged. */
  const openWith = async (keys: readonly Buffer[], damaged: readonly Buffer[] = []) => {
    const encodings = { keyEncoding: "buffer", valueEncoding: "buffer" } as const;
    const database = new Level<Buffer, Buffer>(await temporaryDirectory(), encodings);
    await database.open();
    onTestFinished(() => database.close());
    await database.batch(
      [...keys, ...damaged].map((key) => ({
        type: "put" as const,
        key,
        value: sealRecord(damaged.includes(key) ? Buffer.from("another key") : key, key),
      })),
    );
    const snapshot = new LevelSnapshot(database, new SharedSnapshot(database), new KnownTables());
    onTestFinished(() => snapshot.close());
    return async (low: string, high: string, expected = 10): Promise<string[]> => {
      const found: string[] = [];
      for await (const page of snapshot.scan({ low, high, hasTextKeys: true }, false, expected))
        for (const { key, payload } of page) {
          expect(Buffer.compare(payload, bytesOf(key))).toBe(0);
          found.push(key);
        }
      return found;
    };
  };
  const texts = ["a", "a\u0000", "é", "\u0001\u0002", "\ufeffmark", "\u{1f600}", "\ufffd", "z"];
  const byteTexts = texts.map((text) => Buffer.from(text).toString("latin1")).toSorted();

  test("returns the same bytes as one of any keys", async () => {
    const scan = await openWith(texts.map((text) => Buffer.from(text)));
    expect(await scan("", "\u00ff")).toEqual(byteTexts);
    expect(await scan("b", "\u00ff")).toEqual(byteTexts.filter((text) => text > "b"));
    expect(await scan("b", "\u00f0", 1)).toEqual(byteTexts.filter((text) => text > "b" && text < "\u00f0"));
  });

  test("also returns keys that are no texts", async () => {
    const bytes = ["\u0080", "a\u00ff", "\u00ed\u00a0\u0080"];
    const keys = [...texts.map((text) => Buffer.from(text)), ...bytes.map((key) => bytesOf(key))];
    const scan = await openWith(keys);
    const all = [...byteTexts, ...bytes].toSorted();
    expect(await scan("", "\u00ff")).toEqual(all);
    expect(await scan("", "\u00ff", 3)).toEqual(all);
    expect(await scan("b", "\u00ff")).toEqual(all.filter((key) => key > "b"));
  });

  test("names the bytes of the key of a damaged record", async () => {
    const scan = await openWith([Buffer.from("a"), Buffer.from("z")], [Buffer.from([0x6b, 0xff])]);
    await expect(scan("", "\u00ff")).rejects.toThrow("the record at key 6bff is damaged: its checksum does not hold");
    expect(await scan("l", "\u00ff")).toEqual(["z"]);
  });
});
