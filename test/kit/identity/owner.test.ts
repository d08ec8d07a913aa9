import { describe, expect, test } from "vitest";

import { anonymousCaller, rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import { isOwner, requireOwner } from "../../../services/kit/identity/owner.ts";

const refusal = () => new Error("AccessDenied");

describe("the owner of a resource", () => {
  // caller, owner, whether it is
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

  test("is let through, and everybody else gets the refusal", () => {
    expect(() => requireOwner(rootCaller("111122223333"), "111122223333", refusal)).not.toThrow();
    expect(() => requireOwner(anonymousCaller, "111122223333", refusal)).toThrow("AccessDenied");
  });
});
