import { describe, expect, test } from "vitest";

import type { ListingSeek, NamedRow } from "../../../services/object-storage/domain/listing.ts";
import { commonPrefixOf, listPage } from "../../../services/object-storage/domain/listing.ts";

const byBytes = (first: string, second: string): number => Buffer.compare(Buffer.from(first), Buffer.from(second));

/** Rows as the database gives them, and how many were read. */
const database = (names: readonly string[]) => {
  const sorted = names.toSorted(byBytes);
  const counts = { seeks: 0, rows: 0 };
  const readRows =
    (prefix: string) =>
    async (seek: ListingSeek<string>, limit: number): Promise<NamedRow<string, string>[]> => {
      const rows = sorted
        .filter((name) => name.startsWith(prefix))
        .filter((name) =>
          "after" in seek ? byBytes(name, seek.after) > 0 : byBytes(name, seek.past) > 0 && !name.startsWith(seek.past),
        )
        .slice(0, limit)
        .map((name) => ({ name, position: name, row: name }));
      counts.seeks += 1;
      counts.rows += rows.length;
      return rows;
    };
  return { counts, readRows };
};

const pagesOf = async (
  names: readonly string[],
  prefix: string,
  delimiter: string,
  startAfter: string,
  entriesMax: number,
): Promise<string[][]> => {
  const { readRows } = database(names);
  const pages: string[][] = [];
  for (let after = startAfter; ;) {
    const page = await listPage(
      { prefix, delimiter, start: { name: after, position: after }, entriesMax },
      readRows(prefix),
    );
    pages.push(page.entries.map((entry) => entry.name));
    if (!page.isTruncated) return pages;
    after = page.entries.at(-1)?.name ?? "";
  }
};

/** What a listing shows, worked out from all names at once. */
const expected = (names: readonly string[], prefix: string, delimiter: string, startAfter: string): string[] => {
  const skipped = commonPrefixOf(startAfter, prefix, delimiter);
  const shown = names
    .filter((name) => name.startsWith(prefix) && byBytes(name, startAfter) > 0)
    .map((name) => commonPrefixOf(name, prefix, delimiter) ?? name)
    .filter((name) => name !== skipped);
  return [...new Set(shown)].toSorted(byBytes);
};

describe("a listing", () => {
  const names = ["a", "folder/a/x", "folder/a/y", "folder/b", "folder0", "z", "é", "\uffff", "\u{1f600}"];

  test.each([
    // prefix, delimiter, start after, page size, pages
    ["", "", "", 4, [["a", "folder/a/x", "folder/a/y", "folder/b"], ["folder0", "z", "é", "\uffff"], ["\u{1f600}"]]],
    ["", "/", "", 3, [["a", "folder/", "folder0"], ["z", "é", "\uffff"], ["\u{1f600}"]]],
    ["folder/", "/", "", 10, [["folder/a/", "folder/b"]]],
    ["folder/", "/", "folder/a/x", 10, [["folder/b"]]],
    ["", "/", "folder/a/x", 10, [["folder0", "z", "é", "\uffff", "\u{1f600}"]]],
    ["folder", "older", "", 10, [["folder/a/x", "folder/a/y", "folder/b", "folder0"]]],
    ["nothing", "", "", 10, [[]]],
    ["", "", "\u{1f600}", 10, [[]]],
    ["", "", "", 9, [names]],
    ["", "", "", 0, [[]]],
  ])("with prefix %j, delimiter %j, after %j, by %i", async (prefix, delimiter, after, entriesMax, pages) => {
    expect(await pagesOf(names, prefix, delimiter, after, entriesMax)).toEqual(pages);
  });

  test("shows the same whatever the size of its pages, for any names", async () => {
    const alphabet = ["a", "b", "/", "0", "é", "\u{10000}"];
    let state = 12_345;
    const random = (below: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((state / 2_147_483_648) * below);
    };
    const word = (lengthMax: number): string =>
      Array.from({ length: random(lengthMax + 1) }, () => alphabet[random(alphabet.length)]).join("");

    for (let round = 0; round < 300; round += 1) {
      const keys = [...new Set(Array.from({ length: random(40) }, () => word(6)))].filter((key) => key !== "");
      const [prefix, delimiter, startAfter] = [word(2), random(3) === 0 ? "" : word(1), random(2) === 0 ? "" : word(4)];
      const shown = await pagesOf(keys, prefix, delimiter, startAfter, 1 + random(7));
      expect(shown.flat()).toEqual(expected(keys, prefix, delimiter, startAfter));
    }
  });

  test("costs what it shows, not what lies in its common prefixes", async () => {
    const { counts, readRows } = database(
      Array.from({ length: 10_000 }, (_none, index) => `${Math.floor(index / 1_000)}/${index}`),
    );
    const page = await listPage(
      { prefix: "", delimiter: "/", start: { name: "", position: "" }, entriesMax: 1_000 },
      readRows(""),
    );
    expect(page.entries).toHaveLength(10);
    expect(counts.seeks).toBe(11);
    // 64 rows at first, then 2 for each of nine prefixes and 16 for the one that is looked at more closely.
    expect(counts.rows).toBe(96);
  });

  test("reads common prefixes of few rows together", async () => {
    const { counts, readRows } = database(
      Array.from({ length: 3_000 }, (_none, index) => `${1_000 + Math.floor(index / 3)}/${index}`),
    );
    const page = await listPage(
      { prefix: "", delimiter: "/", start: { name: "", position: "" }, entriesMax: 500 },
      readRows(""),
    );
    expect(page.entries).toHaveLength(500);
    // 22 reads of 64 rows with 22 prefixes each, then 17, 11, 7, 4, 2, 1 and 1 rows for the 17 entries that are left.
    expect(counts.seeks).toBe(29);
  });

  test("finds out that common prefixes of many rows are followed by such of few", async () => {
    const many = Array.from({ length: 1_000 }, (_none, index) => `a${index % 10}/${index}`);
    const few = Array.from({ length: 900 }, (_none, index) => `b${1_000 + Math.floor(index / 3)}/${index}`);
    const { counts, readRows } = database([...many.toSorted(), ...few]);
    const page = await listPage(
      { prefix: "", delimiter: "/", start: { name: "", position: "" }, entriesMax: 1_000 },
      readRows(""),
    );
    expect(page.entries).toHaveLength(310);
    expect(counts.seeks).toBe(31);
  });

  test("reads more at once again after common prefixes", async () => {
    const within = Array.from({ length: 100 }, (_none, index) => `a/${index}`);
    const flat = Array.from({ length: 200 }, (_none, index) => `b${1_000 + index}`);
    const { counts, readRows } = database([...within, ...flat]);
    const page = await listPage(
      { prefix: "", delimiter: "/", start: { name: "", position: "" }, entriesMax: 1_000 },
      readRows(""),
    );
    expect(page.entries).toHaveLength(201);
    // 64 rows within the common prefix, then 2, 4, 8, 16, 32, 64, 64 and the last 10.
    expect(counts.seeks).toBe(9);
  });
});
