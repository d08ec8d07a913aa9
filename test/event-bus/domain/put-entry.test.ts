import { describe, expect, test } from "vitest";

import type { PutEntry } from "../../../services/event-bus/domain/put-entry.ts";
import { entryBytes, refuseEntry } from "../../../services/event-bus/domain/put-entry.ts";

const entry: PutEntry = { source: "shop.orders", detailType: "Order Placed", detail: '{"n":1}', resources: [] };
const argument = (name: string): string => `Parameter ${name} is not valid. Reason: ${name} is a required argument.`;

describe("refuseEntry, in the order of its checks", () => {
  // change of a good entry | code | message
  test.each<[string, Partial<PutEntry>, string | undefined, string | undefined]>([
    ["nothing", { source: undefined, detailType: undefined, detail: undefined }, "InvalidArgument", argument("Source")],
    ["no source", { source: undefined, detail: "x" }, "InvalidArgument", argument("Source")],
    ["an empty source", { source: "" }, "InvalidArgument", argument("Source")],
    ["no detail type", { detailType: undefined, detail: undefined }, "InvalidArgument", argument("DetailType")],
    ["no detail", { detail: undefined }, "InvalidArgument", argument("Detail")],
    ["a detail that is a string", { detail: '"x"' }, "MalformedDetail", "Detail is malformed."],
    ["a detail that is a list", { detail: "[1]" }, "MalformedDetail", "Detail is malformed."],
    ["a detail that is null", { detail: "null" }, "MalformedDetail", "Detail is malformed."],
    ["a detail that is no JSON", { detail: "{'n':1}" }, "MalformedDetail", "Detail is malformed."],
    ["malformed and reserved", { detail: "[]", source: "aws.s3" }, "MalformedDetail", "Detail is malformed."],
    [
      "1101 levels",
      { detail: `${'{"a":'.repeat(1100)}{}${"}".repeat(1100)}` },
      "MalformedDetail",
      "Detail is nested deeper than 1100 levels.",
    ],
    ["1100 levels", { detail: `${'{"a":'.repeat(1099)}{}${"}".repeat(1099)}` }, undefined, undefined],
    [
      "a detail type of 129 characters",
      { detailType: "é".repeat(129) },
      "InvalidArgument",
      "Parameter DetailType is not valid. Reason: DetailType is longer than 128 characters.",
    ],
    ["a detail type of 128 characters", { detailType: "é".repeat(128) }, undefined, undefined],
    [
      "a public service's source",
      { source: "aws.s3" },
      "NotAuthorizedForSourceException",
      "Not authorized for the source.",
    ],
    [
      "a documented service's source",
      { source: "svc.s3" },
      "NotAuthorizedForSourceException",
      "Not authorized for the source.",
    ],
    ["a source that only begins alike", { source: "awsome" }, undefined, undefined],
    ["a good entry", {}, undefined, undefined],
  ])("%s", (_what, change, code, message) => {
    const refusal = refuseEntry({ ...entry, ...change }, false, 1_100);
    expect([refusal?.code, refusal?.message]).toEqual([code, message]);
  });
});

describe("entryBytes", () => {
  test.each<[string, PutEntry, number]>([
    ["texts in UTF-8", { source: "é", detailType: "ab", detail: "{}", resources: ["x", "yz"] }, 9],
    ["14 for a time", { source: "a", detailType: "b", detail: "{}", resources: [], time: {} }, 18],
    ["nothing for what is missing", { resources: [] }, 0],
  ])("counts %s", (_what, counted, bytes) => {
    expect(entryBytes(counted)).toBe(bytes);
  });
});
