import { BytesValueSchema, Int64ValueSchema, StringValueSchema } from "@bufbuild/protobuf/wkt";

import { defineTable, integer, reversed, text } from "../../../services/kit/store/table.ts";

/** The tables of the store's tests, in the order of their numbers. */
export const notes = defineTable({
  number: 10,
  name: "notes",
  key: [text("owner"), text("title")],
  value: StringValueSchema,
});
export const counters = defineTable({ number: 11, name: "counters", key: [text("name")], value: Int64ValueSchema });
export const events = defineTable({
  number: 12,
  name: "events",
  key: [text("stream"), integer("sequence")],
  value: BytesValueSchema,
});
export const newest = defineTable({
  number: 13,
  name: "newest",
  key: [text("stream"), reversed("sequence")],
  value: StringValueSchema,
});
