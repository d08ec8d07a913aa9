import { describe, expect, test } from "vitest";

import type { SearchClause, ValueHits } from "../../../services/customer-profile/domain/search.ts";
import { SearchRange } from "../../../services/customer-profile/domain/search.ts";

const clauses = [
  { keyName: "_phone", values: ["1", "2"] },
  { keyName: "_email", values: ["a"] },
];
/** An identifier of one byte. */
const id = (letter: string) => new TextEncoder().encode(letter);
const hits = (clause: number, value: string, letters: string[], isComplete = true) => ({
  clause,
  value,
  profileIds: letters.map(id),
  isComplete,
});

const decideWindow = (of: readonly SearchClause[], isEveryClauseNeeded: boolean, lists: readonly ValueHits[]) => {
  const range = new SearchRange(of, isEveryClauseNeeded);
  for (const list of lists) range.add(list);
  return { hits: [...range.hits()], through: range.through };
};

describe("a stretch of a search", () => {
  test("with OR holds the profiles of any clause, once, with all that found them", () => {
    expect(
      decideWindow(clauses, false, [hits(0, "1", ["b", "c"]), hits(0, "2", ["b"]), hits(1, "a", ["a", "b"])]),
    ).toEqual({
      hits: [
        { profileId: id("a"), foundBy: [{ keyName: "_email", values: ["a"] }] },
        {
          profileId: id("b"),
          foundBy: [
            { keyName: "_phone", values: ["1", "2"] },
            { keyName: "_email", values: ["a"] },
          ],
        },
        { profileId: id("c"), foundBy: [{ keyName: "_phone", values: ["1"] }] },
      ],
      through: undefined,
    });
  });

  test("with AND holds only the profiles of all clauses", () => {
    const window = decideWindow(clauses, true, [hits(0, "1", ["b"]), hits(0, "2", ["c"]), hits(1, "a", ["a", "c"])]);
    expect(window.hits.map((hit) => hit.profileId)).toEqual(["c"].map(id));
  });

  test("ends where the first incomplete list ends, because behind it nothing is known", () => {
    const window = decideWindow(clauses, false, [
      hits(0, "1", ["a", "f"], false),
      hits(0, "2", ["b", "d"], false),
      hits(1, "a", ["e"]),
    ]);
    expect(window.hits.map((hit) => hit.profileId)).toEqual(["a", "b", "d"].map(id));
    expect(window.through).toEqual(id("d"));
  });

  test("may be empty and not the last", () => {
    expect(decideWindow(clauses, true, [hits(0, "1", ["a", "b"], false), hits(1, "a", ["z"])])).toEqual({
      hits: [],
      through: id("b"),
    });
  });

  test("takes time that grows with the hits when many values find the same profiles", () => {
    const values = Array.from({ length: 1_000 }, (_, index) => `+1 555 ${"(0) ".repeat(50)}${index}`);
    const letters = Array.from({ length: 600 }, (_, index) => String.fromCodePoint(0x4e00 + index));
    const window = decideWindow(
      [{ keyName: "_phone", values }],
      false,
      values.map((value) => hits(0, value, letters)),
    );
    expect(window.hits.map(({ foundBy }) => foundBy[0]?.values.length)).toEqual(Array(600).fill(1_000));
  });

  test("of very many profiles ends with the first ones, whatever the order of the lists", () => {
    const numbered = (number: number) => String(number).padStart(5, "0");
    const lists = Array.from({ length: 200 }, (_, index) =>
      hits(
        0,
        String(index),
        Array.from({ length: 100 }, (_each, at) => numbered(200 * at + ((index * 37) % 200))),
      ),
    );
    const first = decideWindow(clauses, false, lists);
    const rest = decideWindow(
      clauses,
      false,
      lists.map((list) => ({
        ...list,
        profileIds: list.profileIds.filter((each) => Buffer.compare(each, first.through!) > 0),
      })),
    );
    expect(first.hits.length).toBeLessThan(16_001);
    expect(first.hits.at(-1)?.profileId).toEqual(first.through);
    const found = [...first.hits, ...rest.hits].map(({ profileId }) => new TextDecoder().decode(profileId));
    expect(found).toEqual(Array.from({ length: found.length }, (_, at) => numbered(at)));
    expect(found.length).toBeGreaterThan(first.hits.length);
  });

  test("names one key twice when the caller did", () => {
    const twice = [
      { keyName: "k", values: ["1"] },
      { keyName: "k", values: ["2"] },
    ];
    const window = decideWindow(twice, true, [hits(0, "1", ["a", "b"]), hits(1, "2", ["b"])]);
    expect(window.hits.map((hit) => hit.profileId)).toEqual(["b"].map(id));
  });
});
