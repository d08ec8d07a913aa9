import { appendFile, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { create, toBinary } from "@bufbuild/protobuf";
import { StringValueSchema } from "@bufbuild/protobuf/wkt";
import { Level } from "level";
import { describe, expect, onTestFinished, test, vi } from "vitest";

import { DurableFile } from "../../../services/kit/store/durable-file.ts";
import { StoreDamageError } from "../../../services/kit/store/errors.ts";
import { sealRecord } from "../../../services/kit/store/record.ts";
import type { StoreOptions } from "../../../services/kit/store/store.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { keyBytes } from "../../../services/kit/store/table.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { notes } from "./tables.ts";

const beganMs = Date.parse("2030-01-01T00:00:00Z");
const alphabet = "abcdefghij".split("");

/** Commits one note after the other, a minute apart. With 20 kB, a block of the log holds one and a half. */
const commitNotes = async (directory: string, titles: readonly string[], bytes = 20_000): Promise<void> => {
  const clock = new FakeClock(beganMs);
  const store = await openStore({ directory, clock });
  for (const title of titles) {
    clock.advance(60_000);
    await store.transact((tx) => tx.put(notes, ["alice", title], { value: title.repeat(bytes) }));
  }
  await store.close();
};

/** Writes notes as the store did before it numbered groups. */
const writeUnnumbered = async (directory: string, titles: readonly string[]): Promise<void> => {
  const database = new Level<Buffer, Buffer>(directory, { keyEncoding: "buffer", valueEncoding: "buffer" });
  for (const title of titles) {
    const key = Buffer.from(keyBytes(notes, ["alice", title]));
    const payload = toBinary(StringValueSchema, create(StringValueSchema, { value: title }));
    await database.put(key, sealRecord(key, payload));
  }
  await database.close();
};

const titlesIn = async (options: StoreOptions): Promise<string> => {
  const store = await openStore({ sync: false, ...options });
  const found = await store.read((reader) => reader.list(notes, { limit: 100 }));
  await store.close();
  return found.map(({ key }) => key[1]).join("");
};

const refusalOf = async (options: StoreOptions): Promise<StoreDamageError> => {
  const error = await openStore(options).then(
    (store) => store.close(),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof StoreDamageError)) throw new Error("the store was opened", { cause: error });
  return error;
};

/** The newest file of a kind. */
const fileOf = async (directory: string, pattern: RegExp): Promise<string> => {
  const name = (await readdir(directory)).toSorted().findLast((each) => pattern.test(each));
  if (name === undefined) throw new Error(`no file is named ${pattern}`);
  return join(directory, name);
};

const logOf = (directory: string): Promise<string> => fileOf(directory, /\.log$/);
const tableOf = (directory: string): Promise<string> => fileOf(directory, /\.ldb$/);

const changeBytes = async (path: string, at: number, to: Uint8Array): Promise<void> => {
  const file = await readFile(path);
  file.set(to, at);
  await writeFile(path, file);
};

const contentsOf = async (directory: string): Promise<string[][]> => {
  const names = (await readdir(directory)).toSorted();
  return Promise.all(names.map(async (name) => [name, await readFile(join(directory, name), "latin1")]));
};

const nothing = new Uint8Array(8);

/** Ten notes, the first three of them in a table, and the middle of the fifth damaged in the log. */
const withGap = async (): Promise<string> => {
  const directory = await temporaryDirectory();
  await commitNotes(directory, alphabet.slice(0, 3));
  await commitNotes(directory, alphabet.slice(3));
  await changeBytes(await logOf(directory), 41_000, nothing);
  return directory;
};

/** Ten notes, of which the end of the log lacks the last three. */
const withoutTail = async (): Promise<string> => {
  const directory = await temporaryDirectory();
  await commitNotes(directory, alphabet);
  await truncate(await logOf(directory), 150_000);
  return directory;
};

describe("a database that lacks commits", () => {
  test("in the middle of its log is refused by their numbers and times, and stays as it is", async () => {
    const directory = await withGap();
    const before = await contentsOf(directory);
    const refusal = await refusalOf({ directory });
    expect(refusal.lost).toEqual([
      { first: 6, last: 7, afterMs: beganMs + 2 * 60_000, beforeMs: beganMs + 5 * 60_000 },
    ]);
    expect(refusal.message).toMatch(
      /^the database in \S+ is damaged: commits 6 to 7 are missing, committed after 2030-01-01T00:02:00.000Z and not after 2030-01-01T00:05:00.000Z; \d+.log 25\d{3} bytes at 4\d{4} are damaged; restore it from a backup, or start with --accept-loss yes to go on without what is lost$/,
    );
    expect(await contentsOf(directory)).toEqual(before);
  });

  test("at the end of its log is refused by their numbers and times", async () => {
    const directory = await withoutTail();
    expect((await refusalOf({ directory })).lost).toEqual([
      { first: 8, last: 10, afterMs: beganMs + 7 * 60_000, beforeMs: beganMs + 10 * 60_000 },
    ]);
  });

  test("because its log was deleted is refused", async () => {
    const directory = await temporaryDirectory();
    await commitNotes(directory, alphabet);
    await rm(await logOf(directory));
    const { lost, damages } = await refusalOf({ directory });
    expect(lost).toMatchObject([{ first: 1, last: 10 }]);
    expect(damages).toEqual([expect.stringMatching(/^\d+\.log is missing$/)]);
  });

  test("because all but the durable file was deleted is refused", async () => {
    const directory = await temporaryDirectory();
    await commitNotes(directory, alphabet);
    for (const name of await readdir(directory)) if (name !== "durable") await rm(join(directory, name));
    expect((await refusalOf({ directory })).lost).toMatchObject([{ first: 1, last: 10 }]);
  });

  test.each([
    ["in the middle", withGap, "abcdehij", [{ first: 6, last: 7, after: "2030-01-01T00:02:00.000Z" }]],
    ["at the end", withoutTail, "abcdefg", [{ first: 8, last: 10, after: "2030-01-01T00:07:00.000Z" }]],
  ])("%s goes on when the loss is accepted, logs it, and is not refused again", async (_where, make, left, lost) => {
    const directory = await make();
    const { log, lines } = capturingLogger();
    expect(await titlesIn({ directory, acceptLoss: true, log })).toBe(left);
    expect(lines.filter(({ msg }) => msg === "goes on without commits")).toMatchObject(lost);
    expect(await titlesIn({ directory })).toBe(left);
    await commitNotes(directory, ["x", "y"]);
    expect(await titlesIn({ directory })).toBe(`${left}xy`);
  });
});

describe("a database with a damaged file", () => {
  test.each([
    // file                       what was done to it                                   what is said
    // can be accepted
    [
      "a table",
      async (directory: string) => changeBytes(await tableOf(directory), 900, nothing),
      /^\d+\.ldb the block at 0 does not have its checksum; it holds keys 000067726f7570 to 000a616c696365006300$/,
      true,
    ],
    [
      "a table's end",
      async (directory: string) => truncate(await tableOf(directory), 900),
      /^\d+\.ldb has 900 bytes, not \d+$/,
      true,
    ],
    ["a table that is gone", async (directory: string) => rm(await tableOf(directory)), /^\d+\.ldb is missing$/, false],
    [
      "the manifest",
      async (directory: string) => changeBytes(await fileOf(directory, /^MANIFEST/), 12, nothing),
      /^MANIFEST-\d+ \d+ bytes at 0 are damaged$/,
      false,
    ],
    [
      "CURRENT",
      async (directory: string) => writeFile(join(directory, "CURRENT"), "MANIFEST-000999\n"),
      /^CURRENT does not name a manifest of the directory, which has MANIFEST-\d+$/,
      false,
    ],
    [
      "CURRENT that is gone",
      async (directory: string) => rm(join(directory, "CURRENT")),
      /^CURRENT is missing, although there is \d+\.l(?:db|og)$/,
      false,
    ],
    [
      "the durable file",
      async (directory: string) => writeFile(join(directory, "durable"), "quartet1"),
      /^durable is damaged$/,
      true,
    ],
    [
      "the durable file that is gone",
      async (directory: string) => rm(join(directory, "durable")),
      /^durable is missing$/,
      true,
    ],
  ])("is refused: %s", async (_what, damage, said, isSurvivable) => {
    const directory = await temporaryDirectory();
    await commitNotes(directory, ["a", "b", "c"]);
    await commitNotes(directory, ["d"]);
    await damage(directory);
    const refusal = await refusalOf({ directory });
    expect(refusal.damages).toEqual([expect.stringMatching(said)]);
    expect(refusal.isSurvivable).toBe(isSurvivable);
    const accepted = await openStore({ directory, acceptLoss: true, sync: false }).then(
      (store) => store.close().then(() => true),
      () => false,
    );
    expect(accepted).toBe(isSurvivable);
  });

  test("is refused although it has no numbers, if records are written after the damage", async () => {
    const directory = await temporaryDirectory();
    await writeUnnumbered(directory, ["a", "b", "c"]);
    await changeBytes(await logOf(directory), 20, nothing);
    expect((await refusalOf({ directory })).damages).toEqual([
      expect.stringMatching(/^\d+\.log \d+ bytes at 0 are damaged$/),
    ]);
  });

  test("has as many of its tables checked as the limit allows, those that were not checked for longest first", async () => {
    const directory = await temporaryDirectory();
    for (const title of alphabet.slice(0, 3)) await commitNotes(directory, [title], 300);
    const names = (await readdir(directory)).filter((name) => name.endsWith(".ldb")).toSorted();
    expect(names).toHaveLength(2);
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).size));
    await changeBytes(join(directory, names[1] as string), 100, nothing);
    const limits = { tableCheckBytesMax: Math.max(...sizes) };
    const outcomes: boolean[] = [];
    for (let start = 0; start < 2; start += 1)
      outcomes.push(
        await openStore({ directory, limits, sync: false }).then(
          async (store) => store.close().then(() => true),
          () => false,
        ),
      );
    expect(outcomes).toEqual([true, false]);
  });
});

test("a database whose files cannot be read is refused as such, not as damaged", async () => {
  const directory = await temporaryDirectory();
  await commitNotes(directory, ["a"]);
  const log = await logOf(directory);
  await rm(log);
  await mkdir(log);
  const outcome = await openStore({ directory, acceptLoss: true }).then(
    (store) => store.close(),
    (error: NodeJS.ErrnoException) => error,
  );
  expect(outcome).toMatchObject({ code: "EISDIR", syscall: "read" });
});

describe("a database that lacks nothing", () => {
  test.each([
    ["an incomplete record", Buffer.from("0102030440000102", "hex")],
    ["zeros", Buffer.alloc(70_000)],
    ["bytes that are not a record", Buffer.alloc(500, 0xa5)],
  ])("is opened although a write that was cut off left %s at the end of its log", async (_what, left) => {
    const directory = await temporaryDirectory();
    await commitNotes(directory, alphabet);
    await appendFile(await logOf(directory), left);
    expect(await titlesIn({ directory })).toBe("abcdefghij");
  });

  test("is opened although it was written before groups were numbered, and numbers them from then on", async () => {
    const directory = await temporaryDirectory();
    await writeUnnumbered(directory, ["a"]);
    expect(await titlesIn({ directory })).toBe("a");
    await commitNotes(directory, ["b", "c"]);
    expect(await titlesIn({ directory })).toBe("abc");
    await commitNotes(directory, ["d", "e"]);
    await truncate(await logOf(directory), 100);
    expect((await refusalOf({ directory })).lost).toMatchObject([{ first: 3, last: 4 }]);
  });

  test("has a group's number in the durable file soon after the group, and that synced, before it is closed", async () => {
    const sync = vi.spyOn(DurableFile.prototype, "sync");
    onTestFinished(() => sync.mockRestore());
    const directory = await temporaryDirectory();
    const store = await openStore({ directory });
    const before = await readFile(join(directory, "durable"));
    await store.transact((tx) => tx.put(notes, ["alice", "a"], { value: "a" }));
    await expect.poll(async () => (await readFile(join(directory, "durable"))).equals(before)).toBe(false);
    await expect.poll(() => sync.mock.calls.length, { timeout: 5_000 }).toBe(1);
    await store.close();
  });

  test("is never called damaged while another process writes to it", async () => {
    const directory = await temporaryDirectory();
    const store = await openStore({ directory });
    const ending = new AbortController();
    const writing = (async () => {
      for (let each = 0; !ending.signal.aborted; each += 1)
        await store.transact((tx) => tx.put(notes, ["alice", `${each % 50}`], { value: "x".repeat(40_000) }));
    })();
    const outcomes: string[] = [];
    for (let each = 0; each < 30; each += 1)
      outcomes.push(
        await openStore({ directory, sync: false }).then(
          () => "opened",
          (error: Error) => error.message,
        ),
      );
    ending.abort();
    await writing;
    await store.close();
    expect(new Set(outcomes)).toEqual(new Set(["Database failed to open"]));
  });
});
