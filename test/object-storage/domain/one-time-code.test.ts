import { describe, expect, test } from "vitest";

import { findCodeStep } from "../../../services/object-storage/domain/one-time-code.ts";

/** The secret of RFC 6238, appendix B. */
const secret = Buffer.from("12345678901234567890");

describe("codes", () => {
  test.each([
    // seconds since 1970, the last six digits of the RFC's code, the step
    [59, "287082", 1],
    [1_111_111_109, "081804", 37_037_036],
    [1_111_111_111, "050471", 37_037_037],
    [1_234_567_890, "005924", 41_152_263],
    [2_000_000_000, "279037", 66_666_666],
    [20_000_000_000, "353130", 666_666_666],
  ])("at %i are those of RFC 6238: %s", (seconds, code, step) => {
    expect(findCodeStep(secret, code, seconds * 1000)).toBe(step);
  });

  test.each([
    // seconds from the beginning of the code's step, whether it is accepted
    [-31, undefined],
    [-30, 37_037_037],
    [0, 37_037_037],
    [59, 37_037_037],
    [60, undefined],
  ])("of %i seconds earlier are accepted for one step before and after: %s", (seconds, step) => {
    expect(findCodeStep(secret, "050471", (37_037_037 * 30 + seconds) * 1000)).toBe(step);
  });

  test.each(["", "50471", "0050471", "05047l", "０50471", "050472"])("such as %j are refused", (code) => {
    expect(findCodeStep(secret, code, 1_111_111_111_000)).toBeUndefined();
  });
});
