import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { ObjectTypeFieldSchema, ObjectTypeKeysSchema } from "../../../gen/quartet/customerprofile/v1/object_type_pb.ts";
import { mapObject } from "../../../services/customer-profile/domain/object-mapping.ts";

const long = { a: "x".repeat(250_000) };
const id = create(ObjectTypeFieldSchema, { source: "_source.a" });

test("an object whose texts would be a thousand times as long as it is not read", () => {
  const field = create(ObjectTypeFieldSchema, {
    source: "{{_source.a}}".repeat(70),
    target: "_profile.Attributes.text",
  });
  const fields = Object.fromEntries(Array.from({ length: 400 }, (_each, index) => [`f${index}`, field]));
  expect(mapObject({ fields, keys: {} }, long)).toBeUndefined();
  expect(mapObject({ fields, keys: {} }, { a: "x" })?.values.get("Attributes.text")).toBe("x".repeat(70));
});

test.each([
  ["of many fields", { items: [{ fieldNames: Array.from({ length: 10_000 }, () => "id") }] }],
  ["used many times", { items: Array.from({ length: 2_000 }, () => ({ standardIdentifiers: ["PROFILE"] })) }],
])("an object with a long key %s is not read", (_name, init) => {
  const keys = { id: create(ObjectTypeKeysSchema, init) };
  expect(mapObject({ fields: { id }, keys }, long)).toBeUndefined();
  expect(mapObject({ fields: { id }, keys }, { a: "x" })?.keys).toHaveLength(init.items.length);
});
