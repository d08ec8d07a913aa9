import { describe, expect, test } from "vitest";

import { AddressRefusedError, resolveAllowed } from "../../../services/refactoring-workspace/proxy/addresses.ts";

const addressesOf = (...addresses: string[]) =>
  addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

const neverAsked = () => Promise.reject(new Error("an address needs no resolving"));

describe("resolveAllowed", () => {
  test.each([[["1.1.1.1", "2606:4700::1111"]], [["223.255.255.255"]]])(
    "returns the addresses of a name that has only public ones: %j",
    async (addresses) => {
      const resolve = async () => addressesOf(...addresses);
      expect(await resolveAllowed("shop.example", { allowsPrivate: false, resolve })).toEqual(
        addressesOf(...addresses),
      );
    },
  );

  test.each([
    [["10.0.0.1"]],
    [["1.1.1.1", "10.0.0.1"]],
    [["10.0.0.1", "1.1.1.1"]],
    [["1.1.1.1", "::ffff:127.0.0.1"]],
    [["1.1.1.1", "::7f00:1"]],
    [["203.0.113.1"]],
  ])("refuses a name with a private address among %j, unless private ones are allowed", async (addresses) => {
    const resolve = async () => addressesOf(...addresses);
    const strict = resolveAllowed("shop.example", { allowsPrivate: false, resolve });
    await expect(strict).rejects.toThrow(AddressRefusedError);
    expect(await resolveAllowed("shop.example", { allowsPrivate: true, resolve })).toEqual(addressesOf(...addresses));
  });

  test("uses an address without resolving it, and refuses a private one", async () => {
    const rules = { allowsPrivate: false, resolve: neverAsked };
    expect(await resolveAllowed("1.1.1.1", rules)).toEqual([{ address: "1.1.1.1", family: 4 }]);
    await expect(resolveAllowed("127.0.0.1", rules)).rejects.toThrow(AddressRefusedError);
    await expect(resolveAllowed("::1", rules)).rejects.toThrow(AddressRefusedError);
  });
});
