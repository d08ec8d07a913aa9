import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { addMasterKey, fixedMasterKeys, openMasterKeys } from "../../../services/kit/keyring/master-keys.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

describe("a file of master keys", () => {
  test("is made once, for its owner only, and read afterwards", async () => {
    const path = join(await temporaryDirectory(), "keys", "master");
    const made = await openMasterKeys(path);
    const read = await openMasterKeys(path);
    expect([made.latest, made.find(1)?.length, read.find(1)?.equals(made.find(1) ?? Buffer.alloc(0))]).toEqual([
      1,
      32,
      true,
    ]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test("is one file when many start at once", async () => {
    const directory = await temporaryDirectory();
    const opened = await Promise.all(Array.from({ length: 8 }, () => openMasterKeys(join(directory, "master"))));
    expect(new Set(opened.map((keys) => keys.find(1)?.toString("hex"))).size).toBe(1);
    expect(await readdir(directory)).toEqual(["master"]);
  });

  test("keeps older keys when one is added", async () => {
    const path = join(await temporaryDirectory(), "master");
    const made = await openMasterKeys(path);
    const rotated = await addMasterKey(path);
    expect([rotated.latest, rotated.find(1)?.equals(made.find(1) ?? Buffer.alloc(0)), rotated.find(2)?.length]).toEqual(
      [2, true, 32],
    );
    expect((await openMasterKeys(path)).latest).toBe(2);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  const key = Buffer.alloc(32, 7).toString("base64");

  // text, complaint
  test.for([
    ["", "has no master key"],
    ["precious", "has a line that is not a version and a key of 32 bytes"],
    [`1 ${key}\n1 ${key}\n`, "has a line that is not a version and a key of 32 bytes"],
    [`0 ${key}\n`, "has a line that is not a version and a key of 32 bytes"],
    ["1 c2hvcnQ=\n", "has a line that is not a version and a key of 32 bytes"],
  ] as const)("with %j is refused and kept", async ([text, complaint]) => {
    const path = join(await temporaryDirectory(), "master");
    await writeFile(path, text);
    await expect(openMasterKeys(path)).rejects.toThrow(`${path} ${complaint}`);
    await expect(addMasterKey(path)).rejects.toThrow(complaint);
    expect(await readFile(path, "utf8")).toBe(text);
  });

  test("that is given must hold a key", () => {
    expect(() => fixedMasterKeys(new Map())).toThrow("there is no master key");
  });
});
