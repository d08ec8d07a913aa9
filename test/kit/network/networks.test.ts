import { describe, expect, test } from "vitest";

import { Networks, parseNetwork } from "../../../services/kit/network/networks.ts";

describe("a network", () => {
  test.each([
    ["192.0.2.7", { address: "192.0.2.7", prefixBits: 32, family: "ipv4" }],
    ["10.0.0.0/8", { address: "10.0.0.0", prefixBits: 8, family: "ipv4" }],
    ["0.0.0.0/0", { address: "0.0.0.0", prefixBits: 0, family: "ipv4" }],
    ["::1", { address: "::1", prefixBits: 128, family: "ipv6" }],
    ["fd00::/8", { address: "fd00::", prefixBits: 8, family: "ipv6" }],
  ])("is %s", (text, network) => {
    expect(parseNetwork(text)).toEqual(network);
  });

  test.each(["", "10.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0.0/-1", "lb", "fe80::1%eth0"])(
    "is not %j",
    (text) => {
      expect(parseNetwork(text)).toBeUndefined();
      expect(() => new Networks([text])).toThrow(`${text} is neither an address nor a network`);
    },
  );
});

test.each([
  // address, whether it is in them
  ["10.255.0.1", true],
  ["11.0.0.1", false],
  ["192.0.2.7", true],
  ["192.0.2.8", false],
  ["::ffff:10.0.0.1", true],
  ["::ffff:11.0.0.1", false],
  ["fd12::1", true],
  ["fc00::1", false],
  ["", false],
  ["lb", false],
  [undefined, false],
])("%s is in the networks: %s", (address, isIn) => {
  expect(new Networks(["10.0.0.0/8", "192.0.2.7", "fd00::/8"]).includes(address)).toBe(isIn);
  expect(new Networks([]).includes(address)).toBe(false);
});
