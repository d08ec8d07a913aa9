import { describe, expect, test } from "vitest";

import type { KeyTuple, Table } from "../../../services/kit/store/table.ts";
import { assertDistinct, keyBytes, pretty } from "../../../services/kit/store/table.ts";
import { accessLogs } from "../../../services/object-storage/store/access-logs.ts";
import { accountSettings } from "../../../services/object-storage/store/account-settings.ts";
import { directoryEntries } from "../../../services/object-storage/store/directory-entries.ts";
import { mfaUses } from "../../../services/object-storage/store/mfa-uses.ts";
import { searchEntries } from "../../../services/object-storage/store/search-entries.ts";
import { forks } from "../../../services/object-storage/store/forks.ts";
import { inventoryReports } from "../../../services/object-storage/store/inventory-reports.ts";
import * as layout from "../../../services/object-storage/store/layout.ts";
import { sharedBlobs } from "../../../services/object-storage/store/shared-blobs.ts";
import { waitingNotifications } from "../../../services/object-storage/store/waiting-notifications.ts";

const hex = <K extends KeyTuple>(table: Table<K>, key: K): string => Buffer.from(keyBytes(table, key)).toString("hex");

describe("the keys of the object storage database", () => {
  test("have no number and no name twice", () => {
    expect(() => assertDistinct(layout.layout)).not.toThrow();
    expect(layout.layout.map((table) => table.number)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 18, 20, 21, 22, 23, 24, 25, 26, 30, 40, 41, 60, 61, 62, 63, 64,
      65, 66, 68, 69, 70,
    ]);
  });

  test("are these bytes", () => {
    expect(hex(layout.buckets, ["photos"])).toBe("000170686f746f7300");
    expect(hex(layout.accountBuckets, ["1", "a"])).toBe("000231006100");
    expect(hex(layout.currentVersions, ["b", "é"])).toBe("00036200c3a900");
    expect(hex(layout.versions, ["b", "k", 1])).toBe("000462006b00fffffffffffffffe");
    expect(hex(layout.blobs, ["ab"])).toBe("0005616200");
    expect(hex(layout.unreferencedBlobs, ["ab"])).toBe("0006616200");
    expect(hex(layout.configurations, ["b", "cors"])).toBe("00076200636f727300");
    expect(hex(layout.uploads, ["b", "k", "u"])).toBe("000862006b007500");
    expect(hex(layout.parts, ["u", 2])).toBe("000975000000000000000002");
    expect(hex(layout.finishedUploads, ["b", "k", "u"])).toBe("000a62006b007500");
    expect(hex(layout.finishedUploadTimes, [1, "b", "k", "u"])).toBe("000b000000000000000162006b007500");
    expect(hex(layout.sequenceCeilings, ["sequences"])).toBe("000c73657175656e63657300");
    expect(hex(layout.nullVersions, ["b", "k"])).toBe("000d62006b00");
    expect(hex(sharedBlobs, ["b"])).toBe("000e6200");
    expect(hex(forks, ["b"])).toBe("000f6200");
    expect(hex(layout.wrappingKeys, ["service"])).toBe("00127365727669636500");
    expect(hex(layout.jobs.bodies, ["j"])).toBe("00146a00");
    expect(hex(layout.pageTokenKeys, ["page-tokens"])).toBe("001e706167652d746f6b656e7300");
    expect(hex(layout.scrubProgress, ["scrub"])).toBe("0028736372756200");
    expect(hex(layout.quarantine, ["blob/ab"])).toBe("0029626c6f622f616200");
    expect(hex(mfaUses, ["m"])).toBe("003d6d00");
    expect(hex(layout.lifecycleProgress, ["lifecycle"])).toBe("003e6c6966656379636c6500");
    expect(hex(inventoryReports, ["b", "i"])).toBe("003f62006900");
    expect(hex(accessLogs, ["b", 1, "i"])).toBe("0041620000000000000000016900");
    expect(hex(layout.counts, ["bytes"])).toBe("0046627974657300");
    expect(hex(directoryEntries, ["b", "a/", "c/"])).toBe("00406200612f00632f00");
    expect(hex(accountSettings, ["1"])).toBe("00423100");
    expect(hex(searchEntries, ["i", "tag/a", "b", "k"])).toBe("004469007461672f610062006b00");
    expect(hex(waitingNotifications, ["000000000000"])).toBe("004530303030303030303030303000");
    expect(hex(layout.lockClock, ["retentions"])).toBe("003c726574656e74696f6e7300");
  });

  test("are written for people with the table's name", () => {
    expect(pretty(layout.versions, ["b", "cat.jpg", 7])).toBe('versions/"b"/"cat.jpg"/7');
  });

  test.each([
    // first, second
    ["a", "a\u0000"],
    ["a\u0000", "a\u0001"],
    ["a/", "a0"],
    ["Z", "a"],
    ["z", "é"],
    ["\uffff", "\u{10000}"],
  ])("sort object key %j before %j, by UTF-8 bytes", (first, second) => {
    expect(hex(layout.currentVersions, ["b", first]) < hex(layout.currentVersions, ["b", second])).toBe(true);
  });

  test("sort newer versions of a key before older ones and all of them before the next key", () => {
    const sorted = [
      hex(layout.versions, ["b", "k", Number.MAX_SAFE_INTEGER]),
      hex(layout.versions, ["b", "k", 2]),
      hex(layout.versions, ["b", "k", 1]),
      hex(layout.versions, ["b", "k", 0]),
      hex(layout.versions, ["b", "k0", 9]),
    ];
    expect(sorted.toSorted()).toEqual(sorted);
  });
});
