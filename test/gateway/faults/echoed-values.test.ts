import { expect, test } from "vitest";

import { cutValues } from "../../../gateway/faults/echoed-values.ts";

test.each([
  // key, length of the value, length of the shown one
  ["tag_key", 1024, 1024],
  ["tag_key", 1025, 1024 + "...".length],
  ["tag_key", 3_900_000, 1024 + "...".length],
  ["canonical_request", 16_384, 16_384],
  ["canonical_request", 16_385, 16_384 + "...".length],
] as const)("a %s of %d characters is shown with %d", (key, length, shown) => {
  expect(cutValues({ key: "a", [key]: "x".repeat(length) })).toEqual({
    key: "a",
    [key]: expect.toSatisfy((value: string) => value.length === shown),
  });
});
