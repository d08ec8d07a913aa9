import { describe, expect, test } from "vitest";

import { createAddressGuard, isPrivateAddress } from "../../../services/event-bus/delivery/address-guard.ts";

// address | private
test.each([
  ["0.0.0.0", true],
  ["10.255.255.255", true],
  ["11.0.0.0", false],
  ["100.64.0.1", true],
  ["127.1.2.3", true],
  ["169.254.169.254", true],
  ["172.15.255.255", false],
  ["172.16.0.0", true],
  ["172.32.0.0", false],
  ["192.168.1.1", true],
  ["224.0.0.1", true],
  ["255.255.255.255", true],
  ["8.8.8.8", false],
  ["::1", true],
  ["::", true],
  ["::ffff:8.8.8.8", true],
  ["::127.0.0.1", true],
  ["64:ff9b::7f00:1", true],
  ["64:ff9b:1::7f00:1", true],
  ["2001:0:7f00:1::", true],
  ["2002:7f00:1::", true],
  ["fec0::1", true],
  ["2001:4860:4860::8888", false],
  ["fd00::1", true],
  ["fe80::1", true],
  ["ff02::1", true],
  ["2606:4700::1111", false],
])("%s is private: %s", (address, expected) => {
  expect(isPrivateAddress(address)).toBe(expected);
});

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
    ["file:///etc/passwd", "file: cannot be requested"],
  ])("%s: %s", (url, refusal) => {
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
