import { expect, test } from "vitest";

import { defaultLimits } from "../../services/object-storage/limits.ts";
import { put, refusalOf, startWithBucket } from "./harness.ts";

test("an installation allows what is documented", async () => {
  expect(defaultLimits).toMatchObject({
    objectBytesMax: 5_497_558_138_880,
    copyBytesMax: 5_368_709_120,
    partBytesMin: 5_242_880,
    partBytesMax: 5_368_709_120,
  });
  const harness = await startWithBucket();
  const tooLarge = { bucket: "photos", key: "k", contentLength: 5_497_558_138_881n };
  expect(await refusalOf(put(harness, tooLarge, "x"))).toBe("ENTITY_TOO_LARGE");
  expect(await refusalOf(put(harness, { ...tooLarge, contentLength: 5_497_558_138_880n }, "x"))).toBe(
    "INCOMPLETE_BODY",
  );
});
