import { describe, expect, test } from "vitest";

import { findMergeProblem, ProfileMerge } from "../../../services/customer-profile/domain/merge.ts";
import { createdProfile, withKeys } from "../../../services/customer-profile/domain/profile-state.ts";

const profile = (id: string, fields: Record<string, string>, keys: string[] = []) => ({
  id,
  state: withKeys(
    createdProfile(new Map(Object.entries(fields)), 1),
    keys.map((value) => ({ name: "k", value })),
    1,
  ),
});
const ann = profile("ann", { FirstName: "Ann", "Address.City": "Ghent", "Attributes.a": "1" }, ["1"]);
const annie = profile("annie", { FirstName: "Annie", LastName: "Lee", "Address.Country": "BE", "Attributes.b": "2" }, [
  "1",
  "2",
]);
const anna = profile("anna", { LastName: "Li", MiddleName: "M" }, ["3"]);
const merged = (sources: Record<string, string> = {}) => {
  const merge = new ProfileMerge(ann, new Map(Object.entries(sources)));
  merge.add(annie);
  merge.add(anna);
  return merge.stateAt(9);
};
const fieldsOf = (sources?: Record<string, string>) =>
  Object.fromEntries([...merged(sources).fields].map(([path, field]) => [path, field.value]));

describe("a merge", () => {
  test("unites fields, the main profile's first, with addresses whole", () => {
    expect(fieldsOf()).toEqual({
      FirstName: "Ann",
      "Address.City": "Ghent",
      "Attributes.a": "1",
      LastName: "Lee",
      "Attributes.b": "2",
      MiddleName: "M",
    });
  });

  test("takes a field from its named source, even when that has none", () => {
    expect(fieldsOf({ FirstName: "anna", LastName: "anna", Address: "annie" })).toEqual({
      "Address.Country": "BE",
      "Attributes.a": "1",
      LastName: "Li",
      "Attributes.b": "2",
      MiddleName: "M",
    });
  });

  test("unites keys without doubles", () => {
    expect(merged().keys.map((key) => key.value)).toEqual(["1", "2", "3"]);
  });

  test.each([
    [["a", "b"], {}, undefined],
    [["a", "b", "a"], {}, "profile a is named twice"],
    [["a", "b"], { FirstName: "c" }, "profile c, the source of FirstName, is not among the merged ones"],
  ])("of %j with sources %j has the problem %s", (profileIds, sources, problem) => {
    expect(findMergeProblem(profileIds, new Map(Object.entries(sources)))).toBe(problem);
  });
});
