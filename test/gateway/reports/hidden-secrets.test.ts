import { describe, expect, test } from "vitest";

import { withoutSecrets } from "../../../gateway/reports/hidden-secrets.ts";

describe("a canonical request without secrets", () => {
  // text, what is shown
  test.each([
    ["GET\n/b/k\n\nhost:h", "GET\n/b/k\n\nhost:h"],
    ["x-amz-security-token:FwoG\nhost:h", "x-amz-security-token:[hidden]\nhost:h"],
    ["x-amz-server-side-encryption-customer-key:abc=", "x-amz-server-side-encryption-customer-key:[hidden]"],
    ["X-Amz-Date=1&X-Amz-Security-Token=FwoG&a=b\nhost:h", "X-Amz-Date=1&X-Amz-Security-Token=[hidden]&a=b\nhost:h"],
  ])("%j is %j", (text, expected) => {
    expect(withoutSecrets(text)).toBe(expected);
  });

  test("takes time that grows with the text, whatever it repeats", () => {
    const letters = `GET\n/${"a-".repeat(200_000)}\n\n${"a-".repeat(200_000)}:1`;
    expect(withoutSecrets(letters) === letters).toBe(true);
  });
});
