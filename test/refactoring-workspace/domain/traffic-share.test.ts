import { expect, test } from "vitest";

import { isInShare } from "../../../services/refactoring-workspace/domain/traffic-share.ts";

const addresses = Array.from(
  { length: 20_000 },
  (_none, number) => `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`,
);
const takenOf = (trafficPercentage: number | undefined, applicationId = "app-0123456789") =>
  new Set(addresses.filter((address) => isInShare({ trafficPercentage }, applicationId, address)));

test.each([1, 5, 25, 50, 75, 99])("%i % of clients are about so many", (percentage) => {
  const expected = (addresses.length * percentage) / 100;
  // Five standard deviations of so many draws.
  const deviation = 5 * Math.sqrt(expected * (1 - percentage / 100));
  expect(Math.abs(takenOf(percentage).size - expected)).toBeLessThan(deviation);
});

test("no share takes all clients, and 0 none", () => {
  expect(takenOf(undefined).size).toBe(addresses.length);
  expect(takenOf(0).size).toBe(0);
});

test("a smaller share lies within a larger, and that of another application elsewhere", () => {
  const half = takenOf(50);
  expect(takenOf(60).isSupersetOf(half)).toBe(true);
  const both = half.intersection(takenOf(50, "app-abcdefghij"));
  expect(Math.abs(both.size - addresses.length / 4)).toBeLessThan(5 * Math.sqrt(addresses.length * 0.25 * 0.75));
});
