import { expect, test } from "vitest";

import { boundHeaders } from "../../../gateway/bindings/request-headers.ts";
import { dialectsOf } from "../../../gateway/dialects/dialects.ts";
import { parseQuery } from "../../../gateway/http/query.ts";

test.each([
  // values of the lines, the value of the metadata
  [["red", "green"], "red,green"],
  [["red, green"], "red, green"],
  [["red, green", "blue"], "red, green,blue"],
])("metadata in the lines %j is %j", (values, joined) => {
  const rawHeaders = values.flatMap((value) => ["X-Amz-Meta-Colours", value]);
  const source = { headers: { "x-amz-meta-colours": values.join(", ") }, rawHeaders, query: parseQuery("") };
  const bound = boundHeaders(source, dialectsOf("svc").fallback, new Map());
  expect(bound.withPrefix("x-svc-meta-")).toEqual([["colours", joined]]);
});
