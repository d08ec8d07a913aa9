import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { AutoMergingSchema } from "../../../../gen/quartet/customerprofile/v1/matching_pb.ts";
import {
  findMergingProblem,
  isSureEnough,
  plannedMerges,
} from "../../../../services/customer-profile/domain/resolution/auto-merging.ts";
import type { FieldState } from "../../../../services/customer-profile/domain/profile-state.ts";

const profile = (
  id: string,
  createdMs: number,
  updatedMs: number,
  fields: Readonly<Record<string, string | FieldState>>,
) => ({
  id,
  state: {
    fields: new Map(
      Object.entries(fields).map(([path, field]) => [path, typeof field === "string" ? { value: field } : field]),
    ),
    keys: [],
    createdMs,
    updatedMs,
  },
});

const by = (value: string, objectTypeName: string, timeMs: number): FieldState => ({
  value,
  source: { objectTypeName, typeId: "01", objectKey: "02", timeMs },
});

const settings = (criteria: readonly (readonly string[])[], sourceName?: string) =>
  create(AutoMergingSchema, {
    enabled: true,
    consolidation: { matchingAttributesList: criteria.map((items) => ({ items: [...items] })) },
    conflictResolution: { conflictResolvingModel: sourceName === undefined ? "RECENCY" : "SOURCE", sourceName },
  });

const shown = (merges: ReturnType<typeof plannedMerges>) =>
  merges.map(({ main, others }) => [main, ...others].join(" "));

describe("what is merged of a match", () => {
  const ana = { FirstName: "Ana", LastName: "Sol" };
  const people = [
    profile("c", 3, 3, { ...ana, EmailAddress: "a@x.org", "Address.City": "Ulm" }),
    profile("b", 2, 2, { ...ana, PhoneNumber: "1", "Address.City": "Ulm" }),
    profile("a", 4, 4, { FirstName: "ana", LastName: "Sol", EmailAddress: "a@x.org", PhoneNumber: "2" }),
    profile("d", 5, 5, { PhoneNumber: "2" }),
  ];

  test.each([
    // criteria, merges: the main profile first
    [[], []],
    [[["FirstName", "LastName"]], ["b c"]],
    [[["FirstName", "LastName"], ["EmailAddress"]], ["b c a"]],
    [[["FirstName", "LastName"], ["EmailAddress"], ["PhoneNumber"]], ["b c a d"]],
    [
      [["FirstName", "LastName"], ["PhoneNumber"]],
      ["b c", "a d"],
    ],
    [[["Address"]], ["b c"]],
    [[["EmailAddress", "PhoneNumber"]], []],
    [[["Attributes.club"]], []],
  ])("by %j: %j", (criteria, merges) => {
    expect(shown(plannedMerges(people, settings(criteria)))).toEqual(merges);
    expect(shown(plannedMerges(people.toReversed(), settings(criteria)))).toEqual(merges);
  });

  const rivals = [
    profile("a", 1, 10, {
      LastName: "Sol",
      FirstName: "Ana",
      Gender: by("F", "order", 7),
      "Address.City": by("Ulm", "crm", 5),
    }),
    profile("b", 2, 20, {
      LastName: "Sol",
      FirstName: "Anna",
      Gender: by("X", "crm", 3),
      "Address.State": by("BW", "order", 6),
    }),
  ];

  test("has the most recent values, an address as a whole", () => {
    const [planned] = plannedMerges(rivals, settings([["LastName"]]));
    expect(Object.fromEntries(planned!.sources)).toEqual({ LastName: "b", FirstName: "b", Gender: "a", Address: "b" });
  });

  test("has the values of the named source first", () => {
    const [planned] = plannedMerges(rivals, settings([["LastName"]], "crm"));
    expect(Object.fromEntries(planned!.sources)).toEqual({ LastName: "b", FirstName: "b", Gender: "b", Address: "a" });
  });
});

test.each([
  // lowest confidence, confidence, is merged
  [undefined, 0.5, true],
  [0.8, 0.8, true],
  [0.81, 0.8, false],
  [1, 0.99, false],
])("with at least %s, a match of %s is merged: %s", (minAllowedConfidenceScoreForMerging, confidence, expected) => {
  expect(isSureEnough(confidence, { minAllowedConfidenceScoreForMerging })).toBe(expected);
});

test.each([
  [settings([["FirstName", "Address", "Address.City", "Attributes.club"]]), undefined],
  [
    settings([["FirstName"], ["LastName", "Shoe"]]),
    "MatchingAttributesList names Shoe, which is no attribute of profiles",
  ],
  [settings([["Attributes."]]), "MatchingAttributesList names Attributes., which is no attribute of profiles"],
  [
    create(AutoMergingSchema, { conflictResolution: { conflictResolvingModel: "SOURCE" } }),
    "ConflictResolution by SOURCE needs a SourceName",
  ],
])("settings are valid or say what is not, %#", (each, problem) => {
  expect(findMergingProblem(each)).toBe(problem);
});
