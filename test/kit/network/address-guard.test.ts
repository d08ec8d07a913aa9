import { describe, expect, test } from "vitest";

import { createAddressGuard } from "../../../services/kit/network/address-guard.ts";

describe("the guard", () => {
  const strict = createAddressGuard(false);

  // URL | refusal
  test.each([
    ["https://shop.example/", undefined],
    ["https://8.8.8.8/", undefined],
    ["http://shop.example/", "only https may be requested"],
    ["https://127.0.0.1/", "127.0.0.1 is a private address"],
    ["https://2130706433/", "127.0.0.1 is a private address"],
    ["https://0x7f.1/", "127.0.0.1 is a private address"],
    ["https://[::1]/", "::1 is a private address"],
    ["https://[::ffff:127.0.0.1]/", "::ffff:7f00:1 is a private address"],
    ["https://[::ffff:8.8.8.8]/", undefined],
    ["file:///etc/passwd", "file: cannot be requested"],
  ])("the refusal of the URL %s is %s", (url, refusal) => {
    let told: string | undefined;
    try {
      strict.check(new URL(url));
    } catch (error) {
      told = (error as Error).message;
    }
    expect(told).toBe(refusal);
  });

  test("lets everything but other protocols pass where private targets are allowed", () => {
    const open = createAddressGuard(true);
    expect(() => open.check(new URL("http://127.0.0.1/"))).not.toThrow();
    expect(() => open.check(new URL("ftp://127.0.0.1/"))).toThrow("ftp: cannot be requested");
  });
});
