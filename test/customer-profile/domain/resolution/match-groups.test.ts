import { describe, expect, test } from "vitest";

import { groupsOf } from "../../../../services/customer-profile/domain/resolution/match-groups.ts";

const pair = (a: string, b: string, strength: number) => ({ profileIds: [a, b] as const, strength });

describe("groups of pairs", () => {
  test("join profiles that are held together by pairs, with the strength of the least sure one", () => {
    expect(groupsOf([pair("a", "b", 0.8), pair("d", "e", 0.6), pair("b", "c", 0.9)])).toEqual([
      { profileIds: ["a", "b", "c"], strength: 0.8 },
      { profileIds: ["d", "e"], strength: 0.6 },
    ]);
  });

  test("are held together by the surest pairs", () => {
    expect(groupsOf([pair("a", "b", 0.9), pair("b", "c", 0.8), pair("a", "c", 0.5)])).toEqual([
      { profileIds: ["a", "b", "c"], strength: 0.8 },
    ]);
  });

  test("have 21 profiles at most, each with those that it is most surely the same as, in any order of the pairs", () => {
    const ids = Array.from({ length: 22 }, (_each, index) => String.fromCodePoint(97 + index));
    const pairs = ids.slice(1).map((id, index) => pair(ids[index]!, id, 0.9 - index / 100));
    const expected = [{ profileIds: ids.slice(0, 21), strength: 0.9 - 0.19 }];
    expect(groupsOf(pairs)).toEqual(expected);
    expect(groupsOf(pairs.toReversed())).toEqual(expected);
  });
});
