import { describe, expect, test } from "vitest";

import { accountLetters } from "../../../services/customer-profile/store/account-letters.ts";
import * as layout from "../../../services/customer-profile/store/layout.ts";
import * as resolution from "../../../services/customer-profile/store/layout-resolution.ts";
import type { KeyTuple, Table } from "../../../services/kit/store/table.ts";
import { assertDistinct, keyBytes, pretty } from "../../../services/kit/store/table.ts";

const hex = <K extends KeyTuple>(table: Table<K>, key: K): string => Buffer.from(keyBytes(table, key)).toString("hex");
const bytes = (text: string) => new Uint8Array(Buffer.from(text, "hex"));

describe("the keys of the customer profile database", () => {
  test("have no number and no name twice", () => {
    expect(() => assertDistinct(layout.layout)).not.toThrow();
    expect(layout.layout.map((table) => table.number)).toEqual([
      1, 2, 3, 5, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 32, 33, 31,
    ]);
  });

  test("are these bytes", () => {
    expect(hex(layout.pageTokenKeys, ["page-tokens"])).toBe("0001706167652d746f6b656e7300");
    expect(hex(layout.domains, ["000000000000", "shop"])).toBe("00023030303030303030303030300073686f7000");
    expect(hex(layout.domainKeys, [bytes("07")])).toBe("00030700");
    expect(hex(layout.profiles, [bytes("07"), bytes("09")])).toBe("000507000900");
    expect(hex(layout.searchKeys, [bytes("07"), bytes("0b")])).toBe("001107000b00");
    expect(hex(layout.keyHolders, [bytes("07"), bytes("0b"), bytes("09")])).toBe("001207000b000900");
    expect(hex(layout.expiries, [1_767_323_045_000, bytes("07"), bytes("09")])).toBe("00080000019b7ca98c8807000900");
    expect(hex(layout.objectTypes, [bytes("07"), "order"])).toBe("000a07006f7264657200");
    expect(hex(layout.objects, [bytes("07"), bytes("09"), bytes("0c"), bytes("0d")])).toBe("000b070009000c000d00");
    expect(hex(layout.objectPlaces, [bytes("07"), bytes("0c"), bytes("0d")])).toBe("000c07000c000d00");
    expect(hex(layout.objectExpiries, [1_767_323_045_000, bytes("07"), bytes("0c"), bytes("0d")])).toBe(
      "000d0000019b7ca98c8807000c000d00",
    );
    expect(hex(layout.deadLetters, [bytes("07"), bytes("0e")])).toBe("001507000e00");
    expect(hex(layout.objectTypeKeys, [bytes("07"), bytes("0c")])).toBe("001607000c00");
    expect(hex(layout.flows, [bytes("07"), "arn:x"])).toBe("0017070061726e3a7800");
    expect(hex(accountLetters, ["000000000000"])).toBe("001f30303030303030303030303000");
    expect(hex(layout.erasedKeys, [bytes("07"), bytes("09")])).toBe("001007000900");
    expect(hex(layout.integrations, [bytes("07"), "arn:x"])).toBe("000e070061726e3a7800");
    expect(hex(layout.integrationsByAddress, ["000000000000", "arn:x", "shop"])).toBe(
      "000f3030303030303030303030300061726e3a780073686f7000",
    );
    expect(hex(layout.counters, [bytes("07")])).toBe("00130700");
    expect(hex(resolution.resolutions, [bytes("07")])).toBe("00180700");
    expect(hex(resolution.resolutionJobs, [bytes("07"), bytes("0f")])).toBe("001907000f00");
    expect(hex(resolution.changedProfiles, [bytes("08"), bytes("09")])).toBe("001a08000900");
    expect(hex(resolution.matchProfiles, [bytes("08"), bytes("09")])).toBe("001b08000900");
    expect(hex(resolution.matchKeys, [bytes("08"), bytes("0b"), bytes("09")])).toBe("001c08000b000900");
    expect(hex(resolution.matches, [bytes("08"), bytes("0e")])).toBe("001d08000e00");
    expect(hex(resolution.matchCounts, [bytes("08")])).toBe("001e0800");
    expect(hex(resolution.ruleMatchings, [bytes("08")])).toBe("00200800");
    expect(hex(resolution.ruleChanges, [bytes("08"), bytes("09")])).toBe("002108000900");
    expect(hex(layout.profileSeeds, [bytes("07"), bytes("09")])).toBe("001407000900");
  });

  test("escape the bytes that end a part, so that no identifier is the beginning of another's keys", () => {
    expect(hex(layout.profiles, [bytes("0001"), bytes("00")])).toBe("00050101010200010100");
  });

  test("are written for people with the table's name", () => {
    expect(pretty(layout.keyHolders, [bytes("07"), bytes("0b"), bytes("")])).toBe("key_holders/0x07/0x0b/0x");
  });

  test("sort profiles of a key by identifier, and all of them before the next key", () => {
    const sorted = [
      hex(layout.keyHolders, [bytes("07"), bytes("0b"), bytes("00")]),
      hex(layout.keyHolders, [bytes("07"), bytes("0b"), bytes("01")]),
      hex(layout.keyHolders, [bytes("07"), bytes("0b"), bytes("ff")]),
      hex(layout.keyHolders, [bytes("07"), bytes("0b00"), bytes("00")]),
      hex(layout.keyHolders, [bytes("07"), bytes("0c"), bytes("00")]),
    ];
    expect(sorted.toSorted()).toEqual(sorted);
  });

  test("sort expiries by their instant", () => {
    const sorted = [0, 255, 256, 4_294_967_296].map((due) => hex(layout.expiries, [due, bytes("ff"), bytes("ff")]));
    expect(sorted.toSorted()).toEqual(sorted);
  });
});
