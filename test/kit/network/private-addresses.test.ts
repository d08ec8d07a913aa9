import { describe, expect, test } from "vitest";

import { findPrivateAddress, hostnameOf, isPrivateAddress } from "../../../services/kit/network/private-addresses.ts";

describe("isPrivateAddress", () => {
  // address | private
  test.each([
    ["0.0.0.0", true],
    ["9.255.255.255", false],
    ["10.0.0.0", true],
    ["10.255.255.255", true],
    ["11.0.0.0", false],
    ["100.63.255.255", false],
    ["100.64.0.1", true],
    ["100.128.0.1", false],
    ["127.0.0.1", true],
    ["127.255.255.255", true],
    ["169.254.169.254", true],
    ["172.15.255.255", false],
    ["172.16.0.0", true],
    ["172.31.255.255", true],
    ["172.32.0.0", false],
    ["192.0.0.1", true],
    ["192.0.2.1", true],
    ["192.168.1.1", true],
    ["192.169.0.1", false],
    ["198.18.0.1", true],
    ["198.51.100.7", true],
    ["203.0.113.9", true],
    ["223.255.255.255", false],
    ["224.0.0.1", true],
    ["255.255.255.255", true],
    ["1.1.1.1", false],
    ["8.8.8.8", false],
    ["::", true],
    ["::1", true],
    ["::2", true],
    ["::127.0.0.1", true],
    ["::7f00:1", true],
    ["::10.0.0.1", true],
    ["::ffff:127.0.0.1", true],
    ["::ffff:7f00:1", true],
    ["::ffff:1.1.1.1", false],
    ["64:ff9b::7f00:1", true],
    ["64:ff9b:1::7f00:1", true],
    ["100::1", true],
    ["2001:0:7f00:1::", true],
    ["2001:db8::1", true],
    ["2001:4860:4860::8888", false],
    ["2002:7f00:1::", true],
    ["2606:4700::1111", false],
    ["fc00::1", true],
    ["fd00::1", true],
    ["fe80::1", true],
    ["fec0::1", true],
    ["ff02::1", true],
    ["shop.example", true],
    ["", true],
  ])("the answer for %s is %s", (address, expected) => {
    expect(isPrivateAddress(address)).toBe(expected);
  });
});

describe("findPrivateAddress", () => {
  test("finds one private address among public ones", () => {
    expect(findPrivateAddress([{ address: "1.1.1.1" }, { address: "10.0.0.1" }])).toBe("10.0.0.1");
    expect(findPrivateAddress([{ address: "1.1.1.1" }, { address: "2606:4700::1111" }])).toBeUndefined();
  });
});

describe("hostnameOf", () => {
  test("removes the brackets of an IPv6 address", () => {
    expect(hostnameOf(new URL("https://[::1]:8443/"))).toBe("::1");
    expect(hostnameOf(new URL("https://shop.example/"))).toBe("shop.example");
  });
});
