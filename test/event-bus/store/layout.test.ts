import { expect, test } from "vitest";

import * as layout from "../../../services/event-bus/store/layout.ts";
import type { KeyTuple, Table } from "../../../services/kit/store/table.ts";
import { assertDistinct, keyBytes, pretty } from "../../../services/kit/store/table.ts";

const hex = <K extends KeyTuple>(table: Table<K>, key: NoInfer<K>): string =>
  Buffer.from(keyBytes(table, key)).toString("hex");

const account = "000000000000";
// Twelve zeros and the end of the text.
const accountHex = "30303030303030303030303000";

test("keys have these bytes", () => {
  expect(hex(layout.buses, [account, "default"])).toBe(`000a${accountHex}64656661756c7400`);
  expect(hex(layout.busRevisions, [account, "a"])).toBe(`000b${accountHex}6100`);
  expect(hex(layout.ruleChanges, [account, "a", 258])).toBe(`000c${accountHex}61000000000000000102`);
  expect(hex(layout.rules, [account, "a", "r"])).toBe(`0014${accountHex}61007200`);
  expect(hex(layout.targets, [account, "a", "r", "1"])).toBe(`0015${accountHex}610072003100`);
  expect(hex(layout.rulesByTarget, [account, "a", "arn:x", "r", "1"])).toBe(
    `0016${accountHex}610061726e3a780072003100`,
  );
  expect(hex(layout.connections, [account, "c"])).toBe(`001e${accountHex}6300`);
  expect(hex(layout.apiDestinations, [account, "d"])).toBe(`001f${accountHex}6400`);
  expect(hex(layout.destinationsByConnection, [account, "arn:c", "d"])).toBe(`0020${accountHex}61726e3a63006400`);
  expect(hex(layout.events, [account, 1767323045000, "e"])).toBe(`0028${accountHex}0000019b7ca98c886500`);
  expect(hex(layout.eventHolders, [account, 1, "e", "h"])).toBe(`0029${accountHex}000000000000000165006800`);
  expect(hex(layout.sweeps, [account])).toBe(`002a${accountHex}`);
  expect(hex(layout.deadLetters, [account, 1, "x"])).toBe(`0032${accountHex}fffffffffffffffe7800`);
  expect(hex(layout.jobs.bodies, ["j"])).toBe("003c6a00");
  expect(hex(layout.archives, [account, "a"])).toBe(`0046${accountHex}6100`);
  expect(hex(layout.archiveEntries, [account, "i", 1, 2, "e"])).toBe(
    `0047${accountHex}6900000000000000000100000000000000026500`,
  );
  expect(hex(layout.archiveCounts, [account, "i", "2/e"])).toBe(`0048${accountHex}6900322f6500`);
  expect(hex(layout.replays, [account, "r"])).toBe(`0049${accountHex}7200`);
});

test("keys read as people write them", () => {
  expect(pretty(layout.rules, [account, "default", "new-order"])).toBe('rules/"000000000000"/"default"/"new-order"');
});

test("names sort before their extensions, whatever follows", () => {
  const inOrder = ["", "a", "a.", "a0", "aa", "b", "é"].map((rule) => hex(layout.rules, [account, "bus", rule]));
  expect(inOrder.toSorted()).toEqual(inOrder);
  const buses = ["a", "a-b", "ab"].map((bus) => hex(layout.rules, [account, bus, "zzz"]));
  expect(buses.toSorted()).toEqual(buses);
});

test("later dead letters come first, later events last", () => {
  expect(hex(layout.deadLetters, [account, 2, "a"]) < hex(layout.deadLetters, [account, 1, "a"])).toBe(true);
  expect(hex(layout.events, [account, 1, "z"]) < hex(layout.events, [account, 2, "a"])).toBe(true);
});

test("no two tables share a number or a name", () => {
  const { jobs, ...single } = layout;
  expect(() => assertDistinct([...Object.values(single), ...Object.values(jobs)])).not.toThrow();
});
