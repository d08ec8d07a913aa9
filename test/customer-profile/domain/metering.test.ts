import { expect, test } from "vitest";

import { meteringUnits } from "../../../services/customer-profile/domain/metering.ts";

test.each([
  [0, 1],
  [1, 1],
  [100, 1],
  [101, 2],
  [1_000, 10],
])("a profile with %i objects counts for %i", (objects, units) => {
  expect(meteringUnits(objects)).toBe(units);
});
