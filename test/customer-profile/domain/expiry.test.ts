import { expect, test } from "vitest";

import { expiryOf, isExpired } from "../../../services/customer-profile/domain/expiry.ts";

test("data expires so many days after it was stored, and not a millisecond earlier", () => {
  const expireMs = expiryOf(Date.UTC(2026, 0, 2, 3, 4, 5), 30);
  expect(new Date(expireMs).toISOString()).toBe("2026-02-01T03:04:05.000Z");
  expect(isExpired(expireMs, expireMs - 1)).toBe(false);
  expect(isExpired(expireMs, expireMs)).toBe(true);
});
