import { expect, test } from "vitest";

import { chooseRegion, locationConstraintOf } from "../../../services/object-storage/domain/location.ts";

// constraint, own region, chosen region
test.each([
  [undefined, "us-east-1", "us-east-1"],
  ["us-east-1", "us-east-1", "us-east-1"],
  ["aws-global", "us-east-1", "us-east-1"],
  ["aws-global", "eu-west-1", "eu-west-1"],
  ["eu-west-1", "eu-west-1", "eu-west-1"],
  ["EU", "eu-west-1", "eu-west-1"],
])("%s in %s is %s", (constraint, own, chosen) => expect(chooseRegion(constraint, own)).toBe(chosen));

// constraint, own region, reason
test.each([
  [undefined, "eu-west-1", "ILLEGAL_LOCATION_CONSTRAINT"],
  ["us-east-1", "eu-west-1", "ILLEGAL_LOCATION_CONSTRAINT"],
  ["eu-west-1", "us-east-1", "ILLEGAL_LOCATION_CONSTRAINT"],
  ["EU", "us-east-1", "ILLEGAL_LOCATION_CONSTRAINT"],
  ["moon", "us-east-1", "INVALID_LOCATION_CONSTRAINT"],
  ["", "us-east-1", "INVALID_LOCATION_CONSTRAINT"],
])("%s in %s is refused with %s", (constraint, own, reason) => {
  expect(() => chooseRegion(constraint, own)).toThrow(
    expect.objectContaining({ facts: expect.objectContaining({ reason }) as object }) as Error,
  );
});

test("only buckets outside the first region have a location constraint", () => {
  expect([locationConstraintOf("us-east-1"), locationConstraintOf("eu-west-1")]).toEqual([undefined, "eu-west-1"]);
});
