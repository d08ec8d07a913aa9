import { expect, test } from "vitest";

import { AddressShares } from "../../../services/kit/server/address-shares.ts";

/** Takes places for an address until it has its share. Returns what gives each of them back. */
const takeAll = (shares: AddressShares, address: string): (() => void)[] => {
  const held: (() => void)[] = [];
  for (let give = shares.take(address); give !== undefined; give = shares.take(address)) held.push(give);
  return held;
};

test("one address has three quarters of all places, and each further one three quarters of the rest", () => {
  const shares = new AddressShares(10_000);
  const addresses = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6", "192.0.2.7"];
  expect(addresses.map((address) => takeAll(shares, address).length)).toEqual([7_500, 1_875, 469, 117, 30, 7, 2]);
  expect(shares.take("192.0.2.1")).toBeUndefined();
});

test("addresses of one subscriber have one share", () => {
  const shares = new AddressShares(100);
  expect(takeAll(shares, "2001:db8:1:2::5")).toHaveLength(75);
  expect(shares.take("2001:db8:1:2:ffff::1")).toBeUndefined();
  expect(takeAll(shares, "2001:db8:1:3::5")).toHaveLength(19);
});

test("a place that is given back can be taken again, and giving it back again changes nothing", () => {
  const shares = new AddressShares(100);
  const [give] = takeAll(shares, "192.0.2.1");
  give?.();
  give?.();
  expect(takeAll(shares, "192.0.2.1")).toHaveLength(1);
});
