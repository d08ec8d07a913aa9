import { describe, expect, test } from "vitest";

import { decideMatch, keptKeys } from "../../../services/customer-profile/domain/matching.ts";

/** Identifiers of profiles. */
const ann = Uint8Array.of(1);
const bob = Uint8Array.of(2);
const cleo = Uint8Array.of(3);

const key = (name: string, identifiers: string[], profileIds: Uint8Array[] = []) => ({
  key: { name, comparison: "STRING" as const, value: "v" },
  identifiers: new Set(identifiers),
  profileIds,
});

describe("an object belongs", () => {
  test.each([
    // keys, may create, match
    [[key("a", ["PROFILE"], [ann])], false, { kind: "attach", profileId: ann }],
    [[key("a", ["PROFILE"]), key("b", ["PROFILE"], [bob])], true, { kind: "attach", profileId: bob }],
    [[key("a", ["PROFILE"], [ann, bob]), key("b", ["PROFILE"], [cleo])], true, { kind: "attach", profileId: cleo }],
    [
      [key("a", ["PROFILE", "SECONDARY"], [ann]), key("b", ["PROFILE"], [bob])],
      true,
      { kind: "attach", profileId: bob },
    ],
    [
      [key("a", ["PROFILE", "SECONDARY"], [ann]), key("b", ["PROFILE"], [bob, cleo])],
      true,
      { kind: "attach", profileId: ann },
    ],
    [[key("a", ["UNIQUE"], [ann])], true, { kind: "create" }],
    [[key("a", ["PROFILE"], [ann, bob])], true, { kind: "create" }],
    [[key("a", ["PROFILE"], [ann, bob])], false, { kind: "none" }],
    [[key("a", ["PROFILE"])], false, { kind: "none" }],
  ] as const)("by the keys $0 to the match $2", (keys, allowsCreation, match) => {
    expect(decideMatch(keys, allowsCreation)).toEqual(match);
  });
});

test("keys that are only looked up are not kept, and those of new profiles only with new ones", () => {
  const keys = [key("a", []), key("b", ["LOOKUP_ONLY"]), key("c", ["NEW_ONLY"]), key("d", ["UNIQUE"])];
  const namesOf = (isProfileNew: boolean) => keptKeys(keys, isProfileNew).map((each) => each.key.name);
  expect(namesOf(false)).toEqual(["a", "d"]);
  expect(namesOf(true)).toEqual(["a", "c", "d"]);
});
