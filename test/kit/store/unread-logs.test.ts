import { Level } from "level";
import { describe, expect, onTestFinished, test } from "vitest";

import type { LoggedBatches } from "../../../services/kit/store/unread-logs.ts";
import { hasReadLogs, writeAgain } from "../../../services/kit/store/unread-logs.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

/** A database with records written as `key=value`. */
const databaseWith = async (records: readonly string[]) => {
  const database = new Level<Buffer, Buffer>(await temporaryDirectory(), {
    keyEncoding: "buffer",
    valueEncoding: "buffer",
  });
  await database.open();
  onTestFinished(() => database.close());
  for (const { key, value } of batchOf(records.join(" "))) await database.put(key, value ?? Buffer.alloc(0));
  return database;
};

/** A batch written as `key=value key=`, where nothing after the sign is a deletion. */
const batchOf = (text: string): LoggedBatches[number] =>
  text
    .split(" ")
    .filter(Boolean)
    .map((write) => {
      const [key = "", value = ""] = write.split("=");
      return { key: Buffer.from(key), value: value === "" ? undefined : Buffer.from(value) };
    });

const logsOf = (logs: readonly (readonly string[])[]): LoggedBatches[] => logs.map((log) => log.map(batchOf));

describe("a database that was opened", () => {
  test.each([
    // what, records of the database, logs with their batches, whether it has read them
    ["has read no log", ["a=1"], [], true],
    ["has read an empty log", ["a=1"], [[]], true],
    ["has read all of a log", ["a=1", "b=2"], [["a=1", "b=2"]], true],
    ["has not read the last batch", ["a=1"], [["a=1", "b=2"]], false],
    ["has the former value of a record", ["a=1", "b=1"], [["a=1", "b=1", "b=2"]], false],
    ["has not read a deletion", ["a=1"], [["a=1", "a="]], false],
    ["has read a deletion", [], [["a=1", "a="]], true],
    ["has read two logs", ["a=1", "b=3"], [["a=1", "b=2"], ["b=3"]], true],
    ["has not read the end of the first of two logs", ["a=1", "b=3"], [["a=1", "b=2 c=1"], ["b=3"]], false],
    ["has not read what of the first log still counts", ["b=3"], [["a=1", "b=2"], ["b=3"]], false],
    ["has not read the second of two logs", ["a=1"], [["a=1"], ["b=3"]], false],
    ["has read logs of which the second replaces all of the first", ["b=3"], [["b=2"], ["b=3"]], true],
  ])("%s", async (_what, records, logs, isRead) => {
    expect(hasReadLogs(await databaseWith(records), logsOf(logs))).toBe(isRead);
  }); // prettier-ignore

  test("has all of its logs when they are written again", async () => {
    const database = await databaseWith(["a=1", "b=3", "d=9"]);
    const logs = logsOf([["a=1", "b=2 c=1"], ["b=3", "a="]]); // prettier-ignore
    expect(hasReadLogs(database, logs)).toBe(false);
    await writeAgain(database, logs, false);
    expect(hasReadLogs(database, logs)).toBe(true);
    const entries = await database.iterator().all();
    expect(entries.map(([key, value]) => `${key.toString()}=${value.toString()}`)).toEqual(["b=3", "c=1", "d=9"]);
  });
});
