import { expect, test } from "vitest";

import { boundHeaders } from "../../../gateway/bindings/request-headers.ts";
import { dialectsOf } from "../../../gateway/dialects/dialects.ts";
import { parseQuery } from "../../../gateway/http/query.ts";

const amz = dialectsOf("svc").fallback;

test.each([
  // values of the lines, the value of the metadata
  [["red", "green"], "red,green"],
  [["red, green"], "red, green"],
  [["red, green", "blue"], "red, green,blue"],
])("metadata in the lines %j is %j", (values, joined) => {
  const rawHeaders = values.flatMap((value) => ["X-Amz-Meta-Colours", value]);
  const source = { headers: { "x-amz-meta-colours": values.join(", ") }, rawHeaders, query: parseQuery("") };
  const bound = boundHeaders(source, amz, new Map());
  expect(bound.withPrefix("x-svc-meta-")).toEqual([["colours", joined]]);
});

// query, header of the documented dialect, its value
test.each([
  ["X-Amz-Checksum-Mode=ENABLED", "x-svc-checksum-mode", "ENABLED"],
  ["x-amz-storage-class=GLACIER", "x-svc-storage-class", "GLACIER"],
  ["X-Amz-Checksum-Crc32=AAAAAA%3D%3D", "x-svc-checksum-crc32", undefined],
  ["X-Amz-Checksum-Crc32=AAAAAA%3D%3D", "x-svc-checksum-sha1", undefined],
  ["X-Amz-Storage-Class=GLACIER", "x-svc-acl", undefined],
  ["checksum-mode=ENABLED", "x-svc-checksum-mode", undefined],
])("with the query %s the header %s is %s", (query, documented, value) => {
  const source = { headers: {}, rawHeaders: [], query: parseQuery(query) };
  expect(boundHeaders(source, amz, new Map()).get(documented)).toBe(value);
});

test("a header counts before the query, and what replaces it before both", () => {
  const headers = { "x-amz-checksum-mode": "ENABLED" };
  const source = { headers, rawHeaders: [], query: parseQuery("x-amz-checksum-mode=OTHER") };
  expect(boundHeaders(source, amz, new Map()).get("x-svc-checksum-mode")).toBe("ENABLED");
  expect(boundHeaders(source, amz, new Map([["x-amz-checksum-mode", undefined]])).get("x-svc-checksum-mode")).toBe(
    undefined,
  );
});
