import { create } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";

import { instantToText } from "../../../gateway/values/scalars.ts";
import { TimestampFormat } from "../../../gen/quartet/traits/v1/binding_pb.ts";

test.each([
  // seconds since 1970, nanoseconds, text
  [0n, 0, "1970-01-01T00:00:00.000Z"],
  [-1n, 999_000_000, "1969-12-31T23:59:59.999Z"],
  [951_827_696n, 7_000_000, "2000-02-29T12:34:56.007Z"],
  [951_868_799n, 999_999_999, "2000-02-29T23:59:59.999Z"],
  [951_868_800n, 0, "2000-03-01T00:00:00.000Z"],
  [951_827_696n, 40_000_000, "2000-02-29T12:34:56.040Z"],
  [253_402_300_800n, 0, "+010000-01-01T00:00:00.000Z"],
] as const)("the instant %d and %d ns is %s, whichever was written before", (seconds, nanos, text) => {
  expect(instantToText(create(TimestampSchema, { seconds, nanos }), TimestampFormat.DATE_TIME)).toBe(text);
});
