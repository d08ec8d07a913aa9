import { describe, expect, test } from "vitest";

import { anonymousCaller, rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import { isOwner } from "../../../services/kit/identity/owner.ts";

describe("the owner of a resource", () => {
  // caller, owner, belongs to it
  test.for([
    [rootCaller("111122223333"), "111122223333", true],
    [userCaller("111122223333", "alice", []), "111122223333", true],
    [rootCaller("000000000000"), "111122223333", false],
    [anonymousCaller, "111122223333", false],
    [anonymousCaller, "", false],
    [{ ...rootCaller("111122223333"), isAnonymous: true }, "111122223333", false],
  ] as const)("%o of %s: %s", ([caller, owner, isIt]) => {
    expect(isOwner(caller, owner)).toBe(isIt);
  });
});
