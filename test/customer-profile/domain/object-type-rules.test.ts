import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { ObjectTypeFieldSchema, ObjectTypeKeysSchema } from "../../../gen/quartet/customerprofile/v1/object_type_pb.ts";
import { objectTemplates } from "../../../services/customer-profile/domain/object-templates.ts";
import { findObjectTypeProblem } from "../../../services/customer-profile/domain/object-type-rules.ts";

const fields = (source = "_source.a", target?: string) => ({
  a: create(ObjectTypeFieldSchema, { source, target }),
  b: create(ObjectTypeFieldSchema, { source: "_source.b" }),
});
const keys = (rows: Record<string, string[]>, fieldNames = ["a"]) =>
  Object.fromEntries(
    Object.entries(rows).map(([name, standardIdentifiers]) => [
      name,
      create(ObjectTypeKeysSchema, { items: [{ standardIdentifiers, fieldNames }] }),
    ]),
  );
const good = { own: ["UNIQUE", "PROFILE"] };

describe("an object type", () => {
  test.each([
    // fields, keys, problem
    [fields(), keys(good), undefined],
    [fields(), keys({ own: ["UNIQUE"], other: ["PROFILE"] }), undefined],
    [fields(), keys({ own: ["UNIQUE"], look: ["PROFILE", "LOOKUP_ONLY"], kept: ["PROFILE", "SECONDARY"] }), undefined],
    [fields(), keys({ own: ["UNIQUE"], look: ["PROFILE", "LOOKUP_ONLY"], once: ["PROFILE", "NEW_ONLY"] }), undefined],
    [fields(), keys({ own: ["UNIQUE"], _profileId: ["PROFILE", "LOOKUP_ONLY"] }), undefined],
    [fields("_source.a", "_profile.Address.City"), keys(good), undefined],
    [fields("_source.a", "_profile.Attributes.shoe size"), keys(good), undefined],
    [fields("_source.a", "_case.Title"), keys(good), undefined],
    [
      fields("{{#each _source.a}}"),
      keys(good),
      "the source of field a is neither an accessor such as _source.a.b nor a template with {{_source.a.b}}, #if, #unless, #each or #with in it, 50 at most",
    ],
    [fields("{{#if _source.a}}person{{else}}firm{{/if}}"), keys(good), undefined],
    [fields(`{{#if _source.a}}${"x".repeat(15_976)}{{/if}}`), keys(good), undefined],
    [
      fields(`{{#if _source.a}}${"x".repeat(15_977)}{{/if}}`),
      keys(good),
      "its sources with conditions and loops have more than 16000 characters",
    ],
    [fields("_source.a", "_profile.Shoe"), keys(good), "the target of field a is not a field of a profile"],
    [fields("_source.a", "_profile.Attributes."), keys(good), "the target of field a is not a field of a profile"],
    [fields("_source.a", "FirstName"), keys(good), "the target of field a is not a field of a profile"],
    [fields(), {}, "it has no key"],
    [
      fields(),
      keys(Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`k${index}`, []]))),
      "it has more than 10 keys",
    ],
    [fields(), { own: create(ObjectTypeKeysSchema) }, "key own has no use"],
    [
      fields(),
      keys(
        good,
        Array.from({ length: 101 }, () => "a"),
      ),
      "a use of key own has more than 100 fields",
    ],
    [
      fields(),
      keys({ own: Array.from({ length: 21 }, () => "PROFILE") }),
      "a use of key own has more than 20 identifiers",
    ],
    [
      fields(),
      { own: create(ObjectTypeKeysSchema, { items: Array.from({ length: 101 }, () => ({ fieldNames: ["a"] })) }) },
      "its keys have more than 100 uses",
    ],
    [fields("_source.a", `_profile.Attributes.${"b".repeat(255_950)}`), keys(good), undefined],
    [
      fields("_source.a", `_profile.Attributes.${"b".repeat(256_000)}`),
      keys(good),
      "its fields and keys have more than 256000 characters",
    ],
    [fields(), keys(good, ["a", "c"]), "key own names field c, which the type does not have"],
    [fields(), keys(good, []), "key own names field own, which the type does not have"],
    [fields(), keys({ own: ["PROFILE"] }), "it has 0 UNIQUE keys instead of one"],
    [fields(), keys({ own: ["UNIQUE", "PROFILE"], other: ["UNIQUE"] }), "it has 2 UNIQUE keys instead of one"],
    [fields(), keys({ own: ["UNIQUE", "PROFILE", "LOOKUP_ONLY"] }), "key own is both UNIQUE and LOOKUP_ONLY"],
    [fields(), keys({ own: ["UNIQUE"] }), "it has no PROFILE key"],
    [
      fields(),
      keys({ own: ["UNIQUE"], look: ["PROFILE", "LOOKUP_ONLY"] }),
      "key look is PROFILE and LOOKUP_ONLY, and no other PROFILE key is kept",
    ],
  ])("with the fields $0 and the keys $1 has the problem $2", (someFields, someKeys, problem) => {
    expect(findObjectTypeProblem({ fields: someFields, keys: someKeys })).toBe(problem);
  });
});

test.each([...objectTemplates.values()])("the template $templateId breaks no rule", (template) => {
  expect(findObjectTypeProblem(template)).toBeUndefined();
});
