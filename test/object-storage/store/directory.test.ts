import { describe, expect, onTestFinished, test } from "vitest";

import { commonPrefixOf, listPage } from "../../../services/object-storage/domain/listing.ts";
import {
  enterDirectory,
  hasDirectory,
  leaveDirectory,
  readDirectory,
} from "../../../services/object-storage/store/directory.ts";
import { directoryEntries } from "../../../services/object-storage/store/directory-entries.ts";
import { currentVersions } from "../../../services/object-storage/store/layout.ts";
import { readCurrentRows } from "../../../services/object-storage/store/object.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const bucketId = "b";
const byBytes = (first: string, second: string): number => Buffer.compare(Buffer.from(first), Buffer.from(second));

const start = async () => {
  const store = await openStore({ directory: await temporaryDirectory(), sync: false });
  onTestFinished(() => store.close());
  const put = (key: string): Promise<void> =>
    store.transact(async (transaction) => {
      const before = await transaction.get(currentVersions, [bucketId, key]);
      transaction.put(currentVersions, [bucketId, key], { eTag: key });
      if (before === undefined) await enterDirectory(transaction, bucketId, key);
    });
  const remove = (key: string): Promise<void> =>
    store.transact(async (transaction) => {
      if ((await transaction.get(currentVersions, [bucketId, key])) === undefined) return;
      transaction.delete(currentVersions, [bucketId, key]);
      await leaveDirectory(transaction, bucketId, key);
    });
  /** One page of a listing by slashes; with how many reads of entries, of rows, and how many rows. */
  const page = (prefix: string, after: string, entriesMax: number) =>
    store.read(async (reader) => {
      const reads = { entries: 0, rows: 0 };
      const found = await listPage<unknown, string>(
        { prefix, delimiter: "/", start: { name: after, position: after }, entriesMax },
        (seek, limit) => {
          reads.rows += 1;
          return readCurrentRows(reader, bucketId, prefix, seek, limit);
        },
        hasDirectory(prefix)
          ? (seek, limit) => {
              reads.entries += 1;
              return readDirectory(reader, bucketId, prefix, seek, limit);
            }
          : undefined,
      );
      return { names: found.entries.map(({ name }) => name), isTruncated: found.isTruncated, reads };
    });
  const listed = async (prefix: string, startAfter: string, entriesMax: number): Promise<string[]> => {
    const names: string[] = [];
    for (let after = startAfter; ;) {
      const { names: more, isTruncated } = await page(prefix, after, entriesMax);
      names.push(...more);
      if (!isTruncated) return names;
      after = names.at(-1) ?? "";
    }
  };
  const entryCount = async (): Promise<number> =>
    (await store.read((reader) => reader.list(directoryEntries, { limit: 100_000 }))).length;
  return { put, remove, page, listed, entryCount };
};

/** What a listing by slashes shows, worked out from all keys at once. */
const expected = (keys: Iterable<string>, prefix: string, startAfter: string): string[] => {
  const skipped = commonPrefixOf(startAfter, prefix, "/");
  const shown = [...keys]
    .filter((key) => key.startsWith(prefix) && byBytes(key, startAfter) > 0)
    .map((key) => commonPrefixOf(key, prefix, "/") ?? key)
    .filter((name) => name !== skipped);
  return [...new Set(shown)].toSorted(byBytes);
};

let state = 4_711;
const random = (below: number): number => {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((state / 2_147_483_648) * below);
};
const word = (lengthMax: number): string =>
  Array.from({ length: random(lengthMax + 1) }, () => ["a", "b", "/", "/", "-", "é", "\u{10000}"][random(7)]).join("");

describe("a listing by slashes", () => {
  test("is exact after any changes at the same time, for any prefix, start and size of pages", async () => {
    const { put, remove, listed, entryCount } = await start();
    const keys = new Set<string>();
    for (let round = 0; round < 60; round += 1) {
      const changed = new Set(Array.from({ length: 1 + random(12) }, () => word(6)).filter((key) => key !== ""));
      const removed = [...keys].filter(() => random(3) === 0 && keys.size > 5);
      for (const key of removed) changed.delete(key);
      await Promise.all([...[...changed].map(put), ...removed.map(remove)]);
      for (const key of changed) keys.add(key);
      for (const key of removed) keys.delete(key);
      for (let look = 0; look < 8; look += 1) {
        const [prefix, after] = [word(3), random(2) === 0 ? "" : word(4)];
        expect(await listed(prefix, after, 1 + random(9))).toEqual(expected(keys, prefix, after));
      }
    }
    await Promise.all([...keys].map(remove));
    expect(await entryCount()).toBe(0);
  });

  test.each([
    ["the first first", (keys: string[]) => keys],
    ["the last first", (keys: string[]) => keys.toReversed()],
  ])("forgets a directory with its last key, %s", async (_order, ordered) => {
    const { put, remove, listed, entryCount } = await start();
    const keys = ["a/b/c/1", "a/b/c/2", "a/b/d", "a/e/f"];
    for (const key of keys) await put(key);
    for (const key of ordered(keys)) {
      expect(await listed("", "", 10)).toEqual(["a/"]);
      await remove(key);
    }
    expect(await listed("", "", 10)).toEqual([]);
    expect(await entryCount()).toBe(0);
  });

  test("reads common prefixes of a thousand keys as flat as keys", async () => {
    const { put, page } = await start();
    const keys = Array.from({ length: 1_200 }, (_none, index) => `${100 + (index % 120)}/${index}`);
    await Promise.all(keys.map(put));
    const { names, isTruncated, reads } = await page("", "", 100);
    expect(names).toEqual(Array.from({ length: 100 }, (_none, index) => `${100 + index}/`));
    expect(isTruncated).toBe(true);
    expect(reads).toEqual({ entries: 2, rows: 0 });
  });

  test("reads keys that follow each other as rows, and common prefixes among them as entries again", async () => {
    const { put, page } = await start();
    const keys = Array.from({ length: 150 }, (_none, index) => `key-${1_000 + index}`);
    const within = Array.from({ length: 100 }, (_none, index) => `z/${index}`);
    await Promise.all([...keys, ...within, "zz/1"].map(put));
    const { names, reads } = await page("", "", 1_000);
    expect(names).toEqual([...keys, "z/", "zz/"]);
    // 4 entries, then three times 64 rows, the last with z/ in it, then the entries that are left.
    expect(reads).toEqual({ entries: 2, rows: 3 });
  });

  test("goes 32 slashes deep by entries, and beyond that by rows", async () => {
    const { put, remove, listed, entryCount } = await start();
    const deep = "a/".repeat(40);
    await put(`${deep}1`);
    await put(`${deep}2`);
    // 32 directories and two keys in the last of them.
    expect(await entryCount()).toBe(34);
    for (let level = 0; level < 40; level += 1)
      expect(await listed("a/".repeat(level), "", 10)).toEqual(["a/".repeat(level + 1)]);
    expect(await listed(deep, "", 10)).toEqual([`${deep}1`, `${deep}2`]);
    await remove(`${deep}1`);
    expect(await listed("a/".repeat(31), "", 10)).toEqual(["a/".repeat(32)]);
    await remove(`${deep}2`);
    expect(await entryCount()).toBe(0);
  });
});
