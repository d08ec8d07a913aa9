import { describe, expect, test } from "vitest";

import {
  AddressRefusedError,
  isPrivateAddress,
  resolveAllowed,
} from "../../../services/refactoring-workspace/proxy/addresses.ts";

const both = async () => [
  { address: "10.0.0.1", family: 4 },
  { address: "1.1.1.1", family: 4 },
];

const neverAsked = () => Promise.reject(new Error("an address needs no resolving"));

describe("isPrivateAddress", () => {
  test.each([
    "127.0.0.1",
    "127.255.255.255",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "fe80::1",
    "fd00::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "64:ff9b::a00:1",
    "2001:0:a00:1::",
    "2002:a00:1::",
    "fec0::1",
  ])("%s is private", (address) => {
    expect(isPrivateAddress(address)).toBe(true);
  });

  test.each([
    "1.1.1.1",
    "172.32.0.1",
    "100.128.0.1",
    "192.169.0.1",
    "223.255.255.255",
    "2606:4700::1111",
    "::ffff:1.1.1.1",
  ])("%s is public", (address) => {
    expect(isPrivateAddress(address)).toBe(false);
  });
});

describe("resolveAllowed", () => {
  test("answers only the public addresses of a name where private ones are refused", async () => {
    expect(await resolveAllowed("b.example", { allowsPrivate: false, resolve: both })).toEqual([
      { address: "1.1.1.1", family: 4 },
    ]);
    expect(await resolveAllowed("b.example", { allowsPrivate: true, resolve: both })).toHaveLength(2);
  });

  test("takes an address as it is, and refuses a private one", async () => {
    const rules = { allowsPrivate: false, resolve: neverAsked };
    expect(await resolveAllowed("1.1.1.1", rules)).toEqual([{ address: "1.1.1.1", family: 4 }]);
    await expect(resolveAllowed("127.0.0.1", rules)).rejects.toThrow(AddressRefusedError);
    await expect(resolveAllowed("::1", rules)).rejects.toThrow(AddressRefusedError);
  });
});
