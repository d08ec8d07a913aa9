import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeEach, expect, test } from "vitest";

import { ensureDataFormat, noteRestoring, readFormat } from "../../../services/kit/store/data-format.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import type { DataUpgrade } from "../../../services/kit/store/upgrades.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { notes } from "./tables.ts";

let directory: string;
beforeEach(async () => {
  directory = join(await temporaryDirectory(), "notes");
});

const noted = async (): Promise<unknown> => JSON.parse(await readFile(join(directory, "format"), "utf8"));

const note = async (content: string): Promise<void> => {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, "format"), content);
};

const withStore = async <T>(run: (store: Awaited<ReturnType<typeof openStore>>) => Promise<T>): Promise<T> => {
  const store = await openStore({ directory: join(directory, "leveldb") });
  try {
    return await run(store);
  } finally {
    await store.close();
  }
};

/** Two made-up versions: texts become upper case in version 2, and end with a full stop in version 3. */
const shout: DataUpgrade = {
  description: "notes are written in capitals",
  run: ({ directory: of }) => rewrite(of, (text) => text.toUpperCase()),
};
const stop: DataUpgrade = {
  description: "notes end with a full stop",
  run: ({ directory: of }) => rewrite(of, (text) => (text.endsWith(".") ? text : `${text}.`)),
};

const rewrite = async (of: string, change: (text: string) => string): Promise<void> => {
  const store = await openStore({ directory: join(of, "leveldb") });
  try {
    await store.transact(async (tx) => {
      const value = await tx.get(notes, ["alice", "milk"]);
      tx.put(notes, ["alice", "milk"], { ...value, value: change(value?.value ?? "") });
    });
  } finally {
    await store.close();
  }
};

const stored = () =>
  withStore((store) => store.read(async (reader) => (await reader.get(notes, ["alice", "milk"]))?.value));

test("a new directory notes the version of this program", async () => {
  await ensureDataFormat({ directory });
  expect(await noted()).toEqual({ format: 1, program: "0.1.0" });
});

test("data without a version is of version 1, and is noted so", async () => {
  await withStore((store) => store.transact((tx) => tx.put(notes, ["alice", "milk"], { value: "two litres" })));
  await ensureDataFormat({ directory });
  expect(await noted()).toEqual({ format: 1, program: "0.1.0" });
  expect(await stored()).toBe("two litres");
});

test("older data is upgraded step by step, after a line that says so", async () => {
  await withStore((store) => store.transact((tx) => tx.put(notes, ["alice", "milk"], { value: "two litres" })));
  const { log, lines } = capturingLogger();
  await ensureDataFormat({ directory, log, upgrades: [shout, stop] });
  expect(lines).toMatchObject([
    { msg: "upgrades the stored data", from: 1, to: 2, change: "notes are written in capitals", directory },
    { msg: "upgrades the stored data", from: 2, to: 3, change: "notes end with a full stop", directory },
  ]);
  expect(await stored()).toBe("TWO LITRES.");
  expect(await noted()).toEqual({ format: 3, program: "0.1.0" });
});

test("an upgrade that was interrupted goes on with the step that did not end", async () => {
  await withStore((store) => store.transact((tx) => tx.put(notes, ["alice", "milk"], { value: "two litres" })));
  const broken: DataUpgrade = { description: "fails", run: () => Promise.reject(new Error("the disk is gone")) };
  await expect(ensureDataFormat({ directory, upgrades: [shout, broken] })).rejects.toThrow("the disk is gone");
  expect(await noted()).toEqual({ format: 2, program: "0.1.0" });
  const { log, lines } = capturingLogger();
  await ensureDataFormat({ directory, log, upgrades: [shout, stop] });
  expect(lines).toMatchObject([{ from: 2, to: 3 }]);
  expect(await stored()).toBe("TWO LITRES.");
});

test("data of the newest version is left alone", async () => {
  await note('{"format":3,"program":"0.9.0"}');
  await ensureDataFormat({ directory, upgrades: [shout, stop] });
  expect(await noted()).toEqual({ format: 3, program: "0.9.0" });
});

// content of the file, refusal
test.each([
  [
    '{"format":4,"program":"0.9.0"}',
    "has format 4, of Quartet 0.9.0, and this is Quartet 0.1.0, which reads formats up to 3; start that version, or restore a backup that this one wrote",
  ],
  ['{"format":0}', "does not name a version; restore the directory from a backup"],
  ['{"format":"1"}', "does not name a version; restore the directory from a backup"],
  ["", "does not name a version; restore the directory from a backup"],
  ["null", "does not name a version; restore the directory from a backup"],
])("refuses %s and changes nothing", async (content, refusal) => {
  await note(content);
  await expect(ensureDataFormat({ directory, upgrades: [shout, stop] })).rejects.toThrow(refusal);
  expect(await readFile(join(directory, "format"), "utf8")).toBe(content);
});

test("refuses a directory whose restore did not end", async () => {
  await noteRestoring(directory);
  await expect(ensureDataFormat({ directory })).rejects.toThrow(
    `the restore into ${directory} did not end; empty the directory and restore again`,
  );
});

test("a format that cannot be read, and a database that cannot be looked for, are not taken for absent", async () => {
  await mkdir(join(directory, "format"), { recursive: true });
  await expect(readFormat(directory)).rejects.toMatchObject({ code: "EISDIR" });
  await writeFile(join(directory, "leveldb"), "");
  await rm(join(directory, "format"), { recursive: true });
  await expect(ensureDataFormat({ directory })).rejects.toMatchObject({ code: "ENOTDIR" });
});
