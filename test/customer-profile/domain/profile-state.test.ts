import { describe, expect, test } from "vitest";

import {
  changedByHand,
  contentBytes,
  createdProfile,
  indexEntryBytes,
  meteringUnits,
  searchKeysOf,
  withKeys,
  withoutKeys,
} from "../../../services/customer-profile/domain/profile-state.ts";

const ann = createdProfile(
  new Map([
    ["FirstName", "Ann"],
    ["LastName", "Lee"],
    ["Address.City", "Ghent"],
  ]),
  1_000,
);

describe("a change by hand", () => {
  test("replaces what is given, removes what is empty and keeps the rest", () => {
    const changed = changedByHand(
      ann,
      new Map([
        ["FirstName", "Anna"],
        ["Address.City", ""],
      ]),
      2_000,
    );
    expect([...changed.fields]).toEqual([
      ["FirstName", { value: "Anna" }],
      ["LastName", { value: "Lee" }],
    ]);
    expect(changed.createdMs).toBe(1_000);
    expect(changed.updatedMs).toBe(2_000);
  });

  test("takes a field over from the object that set it", () => {
    const source = { objectTypeName: "CTR", typeId: "07", objectKey: "c1", timeMs: 1 };
    const fromObject = { ...ann, fields: new Map([["FirstName", { value: "Ann", source }]]) };
    expect(changedByHand(fromObject, new Map([["FirstName", "Ann"]]), 2_000).fields.get("FirstName")).toEqual({
      value: "Ann",
    });
  });
});

describe("keys added by hand", () => {
  test("stand once, however their value is written", () => {
    const added = withKeys(ann, [{ name: "_phone", value: "555 123 4567" }], 2_000);
    expect(withKeys(added, [{ name: "_phone", value: "+1 (555) 123-4567" }], 3_000).keys).toEqual([
      { name: "_phone", value: "555 123 4567" },
    ]);
  });

  test("go away, however their value is written", () => {
    const added = withKeys(ann, [{ name: "_email", value: "Ann@example.com" }], 2_000);
    expect(withoutKeys(added, [{ name: "_email", value: "ann@EXAMPLE.com" }], 3_000).keys).toEqual([]);
  });

  test("are compared in time that grows with them, as many as a profile has room for", () => {
    const keys = Array.from({ length: 50_000 }, (_each, index) => ({ name: "k", value: index.toString(36) }));
    const added = withKeys(ann, keys, 2_000);
    expect(added.keys).toHaveLength(50_000);
    expect(withKeys(added, keys, 3_000).keys).toHaveLength(50_000);
    expect(withoutKeys(added, keys.slice(1), 3_000).keys).toEqual([{ name: "k", value: "0" }]);
  });
});

describe("the search keys of a profile", () => {
  test("are its account, phones, e-mail addresses, full name and added keys, without doubles", () => {
    const profile = withKeys(
      createdProfile(
        new Map([
          ["AccountNumber", "A-1"],
          ["FirstName", "Ann"],
          ["MiddleName", "Mary"],
          ["LastName", "Lee"],
          ["PhoneNumber", "+15551234567"],
          ["HomePhoneNumber", "(555)-123-4567"],
          ["BusinessPhoneNumber", "112"],
          ["PersonalEmailAddress", "Ann@Example.com"],
          ["BusinessName", "Lee & Co"],
        ]),
        1_000,
      ),
      [{ name: "loyalty", value: "G7" }],
      2_000,
    );
    expect(searchKeysOf(profile).map((key) => `${key.name}=${key.value}`)).toEqual([
      "_account=A-1",
      "_phone=5551234567",
      "_phone=112",
      "_email=ann@example.com",
      "_fullName=ann mary lee",
      "loyalty=G7",
    ]);
  });

  test("have a full name of the names that are known", () => {
    expect(searchKeysOf(ann).map((key) => key.value)).toEqual(["ann lee"]);
  });
});

test("content counts the bytes of paths and values in UTF-8, and for its limit 64 for each added key", () => {
  const zoe = createdProfile(new Map([["LastName", "Zoë"]]), 1);
  expect([contentBytes(zoe), indexEntryBytes(zoe)]).toEqual([12, 0]);
  const added = withKeys(zoe, [{ name: "k", value: "ë" }], 2);
  expect([contentBytes(added), indexEntryBytes(added)]).toEqual([15, 64]);
});

test.each([
  [0, 1],
  [1, 1],
  [100, 1],
  [101, 2],
  [1_000, 10],
])("a profile with %i objects counts for %i units of metering", (objects, units) => {
  expect(meteringUnits(objects)).toBe(units);
});
