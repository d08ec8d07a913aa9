import { describe, expect, test } from "vitest";

import { AddressRefusedError, ServiceNetwork } from "../../../services/refactoring-workspace/proxy/service-network.ts";
import { silentLogger } from "../../support/silent-logger.ts";

const addressesOf = (...addresses: string[]) =>
  addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

const link = "http://link.example:3128";
const egressProxy = "http://egress.example:3128";
const shop = new URL("http://shop.example/");

const networkOf = (allowsPrivate: boolean, addresses: readonly string[]) =>
  new ServiceNetwork({ allowsPrivate, egressProxy, resolve: async () => addressesOf(...addresses), log: silentLogger });

describe("the path to a service", () => {
  test.each([[["1.1.1.1", "2606:4700::1111"]], [["223.255.255.255"]]])(
    "that has only public addresses, %j, leads over the public internet, whether there is a private link or not",
    async (addresses) => {
      const network = networkOf(false, addresses);
      const expected = { addresses: addressesOf(...addresses), isPrivate: false, httpProxy: egressProxy };
      expect(await network.pathTo(shop)).toEqual({ ...expected, secureContext: undefined });
      expect(await network.pathTo(shop, link)).toEqual({ ...expected, secureContext: undefined });
    },
  );

  test.each([
    // addresses, those that the link leads to
    [["10.0.0.1"], ["10.0.0.1"]],
    [
      ["172.31.255.255", "192.168.0.1"],
      ["172.31.255.255", "192.168.0.1"],
    ],
    [["1.1.1.1", "10.0.0.1"], ["10.0.0.1"]],
    [["fd12::1"], ["fd12::1"]],
    [["::ffff:10.0.0.1"], ["::ffff:10.0.0.1"]],
  ])(
    "with an address of a private network among %j leads through the private link to %j",
    async (addresses, reached) => {
      for (const allowsPrivate of [false, true]) {
        const path = await networkOf(allowsPrivate, addresses).pathTo(shop, link);
        expect([path.addresses, path.isPrivate, path.httpProxy]).toEqual([addressesOf(...reached), true, link]);
      }
    },
  );

  test.each([
    [["127.0.0.1"]],
    [["10.0.0.1", "169.254.169.254"]],
    [["1.1.1.1", "::1"]],
    [["100.100.100.200"]],
    [["203.0.113.1"]],
    [["fd00:ec2::254"]],
    [["fe80::1"]],
    [["172.32.0.1", "0.0.0.0"]],
  ])("never leads through the private link with %j", async (addresses) => {
    await expect(networkOf(false, addresses).pathTo(shop, link)).rejects.toThrow(AddressRefusedError);
    const path = await networkOf(true, addresses).pathTo(shop, link);
    expect([path.addresses, path.isPrivate, path.httpProxy]).toEqual([addressesOf(...addresses), true, undefined]);
  });

  test.each([
    [["10.0.0.1"]],
    [["1.1.1.1", "10.0.0.1"]],
    [["10.0.0.1", "1.1.1.1"]],
    [["1.1.1.1", "::ffff:127.0.0.1"]],
    [["1.1.1.1", "::7f00:1"]],
    [["203.0.113.1"]],
  ])(
    "with a private address among %j is refused without a link, unless private ones are allowed",
    async (addresses) => {
      await expect(networkOf(false, addresses).pathTo(shop)).rejects.toThrow(AddressRefusedError);
      const path = await networkOf(true, addresses).pathTo(shop);
      expect([path.addresses, path.isPrivate, path.httpProxy]).toEqual([addressesOf(...addresses), true, undefined]);
    },
  );

  test("to an address needs no resolving, and to a private one is refused", async () => {
    const resolve = () => Promise.reject(new Error("an address needs no resolving"));
    const network = new ServiceNetwork({ allowsPrivate: false, resolve, log: silentLogger });
    expect((await network.pathTo(new URL("http://1.1.1.1"))).addresses).toEqual(addressesOf("1.1.1.1"));
    for (const origin of ["http://127.0.0.1", "http://[::1]:8080", "http://0x7f000001", "http://[::ffff:10.0.0.1]"])
      await expect(network.pathTo(new URL(origin))).rejects.toThrow(AddressRefusedError);
  });
});
