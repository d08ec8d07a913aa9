import { describe, expect, test } from "vitest";

import * as tables from "../../../services/event-bus/store/layout.ts";
import type { KeyTuple, Table } from "../../../services/kit/store/table.ts";
import { keyBytes, pretty } from "../../../services/kit/store/table.ts";

const hex = <K extends KeyTuple>(table: Table<K>, key: NoInfer<K>): string =>
  Buffer.from(keyBytes(table, key)).toString("hex");

const account = "000000000000";
/** The account as a part of a key: twelve zeros and the end of the text. */
const accountHex = "30303030303030303030303000";
const timeMs = 1_767_323_045_000;

describe("the keys of the event bus database", () => {
  test("begin with the numbers of their tables", () => {
    const isOwn = ({ number }: Table): boolean => number !== 1 && (number < 60 || number > 66);
    expect(tables.layout.filter(isOwn).map(({ number, name }) => `${number} ${name}`)).toEqual([
      "10 buses",
      "11 bus_revisions",
      "12 rule_changes",
      "13 account_counts",
      "20 rules",
      "21 targets",
      "22 rules_by_target",
      "30 connections",
      "31 api_destinations",
      "32 destinations_by_connection",
      "40 events",
      "41 event_holders",
      "42 sweeps",
      "43 event_keys",
      "44 deduplications",
      "45 ordered_lanes",
      "46 ordered_deliveries",
      "50 dead_letters",
      "51 dead_letter_groups",
      "52 dead_letters_by_group",
      "53 dead_letter_epochs",
      "54 dead_letter_redrives",
      "70 archives",
      "71 archive_entries",
      "72 archive_counts",
      "73 replays",
      "80 event_sources",
      "81 shared_sources",
      "90 global_endpoints",
      "95 stream_records",
      "100 counts",
      "110 discovered_schemas",
      "111 schema_versions",
    ]);
    expect(tables.layout.map(({ number }) => number).filter((number) => number >= 60 && number < 70)).toEqual([
      60, 61, 62, 63, 64, 65, 66,
    ]);
  });

  // table | key | the key in readable form | its bytes after the number and the account
  test.each<[Table, KeyTuple, string, string]>([
    [tables.buses, ["default"], '"default"', "000a 64656661756c7400"],
    [tables.busRevisions, ["orders"], '"orders"', "000b 6f726465727300"],
    [tables.accountCounts, ["buses"], '"buses"', "000d 627573657300"],
    [tables.ruleChanges, ["orders", 258], '"orders"/258', "000c 6f726465727300 0000000000000102"],
    [tables.globalEndpoints, ["sales"], '"sales"', "005a 73616c657300"],
    [tables.eventSources, ["x/y"], '"x/y"', "0050 782f7900"],
    [tables.rules, ["orders", "new"], '"orders"/"new"', "0014 6f726465727300 6e657700"],
    [tables.targets, ["orders", "new", "1"], '"orders"/"new"/"1"', "0015 6f726465727300 6e657700 3100"],
    [
      tables.rulesByTarget,
      ["orders", "arn:x", "new", "1"],
      '"orders"/"arn:x"/"new"/"1"',
      "0016 6f726465727300 61726e3a7800 6e657700 3100",
    ],
    [tables.connections, ["till"], '"till"', "001e 74696c6c00"],
    [tables.apiDestinations, ["sales"], '"sales"', "001f 73616c657300"],
    [tables.destinationsByConnection, ["arn:c", "sales"], '"arn:c"/"sales"', "0020 61726e3a6300 73616c657300"],
    [tables.events, [timeMs, "e"], '1767323045000/"e"', "0028 0000019b7ca98c88 6500"],
    [
      tables.eventHolders,
      [timeMs, "e", "archive:a"],
      '1767323045000/"e"/"archive:a"',
      "0029 0000019b7ca98c88 6500 617263686976653a6100",
    ],
    [tables.eventKeys, ["k"], '"k"', "002b 6b00"],
    [tables.deadLetters, [timeMs, "x"], '1767323045000/"x"', "0032 fffffe6483567377 7800"],
    [tables.orderedLanes, ["9f"], '"9f"', "002d 396600"],
    [tables.orderedDeliveries, ["9f", 1], '"9f"/1', "002e 396600 0000000000000001"],
    [tables.deadLetterGroups, ["9f"], '"9f"', "0033 396600"],
    [
      tables.deadLettersByGroup,
      ["9f", 2, timeMs, "x"],
      '"9f"/2/1767323045000/"x"',
      "0034 396600 0000000000000002 0000019b7ca98c88 7800",
    ],
    [tables.deadLetterRedrives, ["monday"], '"monday"', "0036 6d6f6e64617900"],
    [
      tables.streamRecords,
      ["sales", timeMs, "r"],
      '"sales"/1767323045000/"r"',
      "005f 73616c657300 0000019b7ca98c88 7200",
    ],
    [
      tables.discoveredSchemas,
      ["default", "shop", "Sale"],
      '"default"/"shop"/"Sale"',
      "006e 64656661756c7400 73686f7000 53616c6500",
    ],
    [
      tables.schemaVersions,
      ["default", "shop", "Sale", 2],
      '"default"/"shop"/"Sale"/2',
      "006f 64656661756c7400 73686f7000 53616c6500 0000000000000002",
    ],
    [tables.archives, ["year"], '"year"', "0046 7965617200"],
    [
      tables.archiveEntries,
      ["i", timeMs, timeMs + 1, "e"],
      '"i"/1767323045000/1767323045001/"e"',
      "0047 6900 0000019b7ca98c88 0000019b7ca98c89 6500",
    ],
    [tables.archiveCounts, ["i", "2/e"], '"i"/"2/e"', "0048 6900 322f6500"],
    [tables.replays, ["again"], '"again"', "0049 616761696e00"],
  ])("of the table $name are these bytes", (table, key, readable, bytes) => {
    const [number, ...parts] = bytes.split(" ");
    expect(hex(table, [account, ...key])).toBe([number, accountHex, ...parts].join(""));
    expect(pretty(table, [account, ...key])).toBe(`${table.name}/"000000000000"/${readable}`);
  });

  test("of the tables without a name or an account are these bytes", () => {
    expect(hex(tables.pageTokenKeys, ["page-tokens"])).toBe("0001706167652d746f6b656e7300");
    expect(hex(tables.sweeps, [account])).toBe(`002a${accountHex}`);
    expect(hex(tables.deadLetterEpochs, [account])).toBe(`0035${accountHex}`);
    expect(hex(tables.deduplications, [2_945_538, account, "default", "111122223333", "d"])).toBe(
      `002c00000000002cf202${accountHex}64656661756c7400313131313232323233333333006400`,
    );
    expect(hex(tables.jobs.bodies, ["j"])).toBe("003c6a00");
  });

  test("sort names before their extensions, whatever follows", () => {
    const inOrder = ["", "a", "a.", "a0", "aa", "b", "é"].map((rule) => hex(tables.rules, [account, "bus", rule]));
    expect(inOrder.toSorted()).toEqual(inOrder);
    const ofBuses = ["a", "a-b", "ab"].map((bus) => hex(tables.rules, [account, bus, "zzz"]));
    expect(ofBuses.toSorted()).toEqual(ofBuses);
  });

  test("sort later dead letters first, later events last", () => {
    expect(hex(tables.deadLetters, [account, 2, "a"]) < hex(tables.deadLetters, [account, 1, "a"])).toBe(true);
    expect(hex(tables.events, [account, 1, "z"]) < hex(tables.events, [account, 2, "a"])).toBe(true);
  });
});
