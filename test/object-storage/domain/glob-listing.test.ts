import { describe, expect, test } from "vitest";

import { parseGlob } from "../../../services/object-storage/domain/glob.ts";
import type { GlobPage } from "../../../services/object-storage/domain/glob-listing.ts";
import {
  decodeSeek,
  encodeSeek,
  listMatching,
  scannedPrefix,
} from "../../../services/object-storage/domain/glob-listing.ts";
import type { ListingSeek, NamedRow } from "../../../services/object-storage/domain/listing.ts";
import { seededRandom } from "../../kit/store/seeded-random.ts";

/** Rows as the database returns them, and how many were read by how many reads. */
const database = (names: readonly string[]) => {
  const sorted = names.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  const counts = { reads: 0, rows: 0 };
  const readRows =
    (prefix: string) =>
    async (seek: ListingSeek<string>, limit: number): Promise<NamedRow<string, string>[]> => {
      const isAfter = (name: string): boolean =>
        "after" in seek ? name > seek.after : name > seek.past && !name.startsWith(seek.past);
      const rows = sorted.filter((name) => name.startsWith(prefix) && isAfter(name)).slice(0, limit);
      counts.reads += 1;
      counts.rows += rows.length;
      return rows.map((name) => ({ name, position: name, row: name }));
    };
  return { counts, readRows };
};

/** The pages of a listing, each with the position of the next one. */
const pagesOf = async (names: readonly string[], pattern: string, request: object) => {
  const { counts, readRows } = database(names);
  const listing = { prefix: "", delimiter: "", entriesMax: 1_000, ...request, glob: parseGlob(pattern) };
  const pages: (readonly [readonly string[], string | undefined])[] = [];
  const prefix = scannedPrefix(listing);
  for (let position: string | undefined = "after:"; prefix !== undefined && position !== undefined;) {
    const start = decodeSeek(position);
    const page: GlobPage<string> = await listMatching({ ...listing, start }, readRows(prefix));
    position = page.next && encodeSeek(page.next);
    pages.push([page.entries.map(({ name }) => name), position]);
  }
  return { counts, pages };
};

const numbered = (count: number, nameOf: (number: string) => string): string[] =>
  Array.from({ length: count }, (_, index) => nameOf(String(index).padStart(6, "0")));

describe("a listing with a glob", () => {
  const names = ["a.txt", "b/", "b/1.png", "b/2.txt", "b/c/3.txt", "d/4.png", "e.txt", "f/5.txt"];

  test.each([
    // pattern, request, pages
    ["*.txt", {}, [[["a.txt", "e.txt"], undefined]]],
    ["**.txt", { delimiter: "/" }, [[["a.txt", "b/", "e.txt", "f/"], undefined]]],
    ["**.txt", { delimiter: "/", prefix: "b/" }, [[["b/2.txt", "b/c/"], undefined]]],
    ["b/*.txt", { delimiter: "/" }, [[["b/"], undefined]]],
    ["b/*.txt", { prefix: "b" }, [[["b/2.txt"], undefined]]],
    ["b/*.txt", { prefix: "b/c" }, [[[], undefined]]],
    ["b/*.txt", { prefix: "c" }, []],
    ["b/1.png", {}, [[["b/1.png"], undefined]]],
    ["b/1", {}, [[[], undefined]]],
    ["**", { entriesMax: 0 }, [[[], undefined]]],
    [
      "**.txt",
      { entriesMax: 2 },
      [
        [["a.txt", "b/2.txt"], "after:b/2.txt"],
        [["b/c/3.txt", "e.txt"], "after:e.txt"],
        [["f/5.txt"], undefined],
      ],
    ],
    [
      "**.txt",
      { entriesMax: 2, delimiter: "/" },
      [
        [["a.txt", "b/"], "after:d/4.png"],
        [["e.txt", "f/"], undefined],
      ],
    ],
    [
      "[abe]**",
      { entriesMax: 2, delimiter: "/" },
      [
        [["a.txt", "b/"], "past:d"],
        [["e.txt"], undefined],
      ],
    ],
    [
      "{b,d}**",
      { entriesMax: 1, delimiter: "/" },
      [
        [["b/"], "past:b/"],
        [["d/"], undefined],
      ],
    ],
  ])("%j with %o has the pages %j", async (pattern, request, pages) => {
    expect((await pagesOf(names, pattern, request)).pages).toEqual(pages);
  });

  test("reads no key without the literal beginning", async () => {
    const others = [...numbered(5_000, (number) => `a/${number}`), ...numbered(5_000, (number) => `z/${number}`)];
    const { counts, pages } = await pagesOf([...others, "m/1.txt", "m/2.png"], "m/*.txt", {});
    expect([pages, counts]).toEqual([[[["m/1.txt"], undefined]], { reads: 1, rows: 2 }]);
  });

  test("skips directories in which nothing can match, with a seek each", async () => {
    const directories = ["a", "b", "c"].flatMap((name) => numbered(5_000, (number) => `${name}/${number}.txt`));
    const { counts, pages } = await pagesOf([...directories, "d.txt"], "*.txt", {});
    expect([pages, counts]).toEqual([[[["d.txt"], undefined]], { reads: 4, rows: 49 }]);
  });

  test("ends a page after 10,000 records, and goes on there, also inside a common prefix that has no match yet", async () => {
    const hay = numbered(25_000, (number) => `hay/${number}`);
    const { pages } = await pagesOf([...hay, "hay/needle.txt", "zoo.txt"], "**.txt", { delimiter: "/" });
    expect(pages).toEqual([
      [[], "after:hay/010063"],
      [[], "after:hay/020127"],
      [["hay/", "zoo.txt"], undefined],
    ]);
  });

  test("ends a page when its glob took too many steps", async () => {
    const random = seededRandom(7);
    const long = numbered(20, () => Array.from({ length: 900 }, () => random.pick(["a", "b"])).join(""));
    const { pages } = await pagesOf(long, `**a${"?".repeat(800)}z`, {});
    expect(pages.length).toBe(7);
    expect(pages.flatMap(([found]) => found)).toEqual([]);
  });
});
