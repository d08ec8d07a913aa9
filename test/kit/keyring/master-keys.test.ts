import { chmod, chown, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { describe, expect, test } from "vitest";

import { anyKeyNames } from "../../../services/kit/keyring/key-names.ts";
import { openKeyring } from "../../../services/kit/keyring/keyring.ts";
import { addMasterKey, fixedMasterKeys, openMasterKeys } from "../../../services/kit/keyring/master-keys.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { openFilesBelow } from "../../support/open-files.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const clock = new FakeClock();

describe("a file of master keys", () => {
  test("is made once, for its owner only, and read afterwards", async () => {
    const directory = join(await temporaryDirectory(), "keys");
    const path = join(directory, "master.keys");
    const made = (await openMasterKeys(path, { clock })).latest();
    expect([made.version, made.key.length]).toEqual([1, 32]);
    expect((await openMasterKeys(path, { clock, isNeeded: true })).latest()).toEqual(made);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(directory)).toEqual(["master.keys"]);
  });

  test("is one file when many start at once", async () => {
    const directory = await temporaryDirectory();
    const opened = await Promise.all(
      Array.from({ length: 8 }, () => openMasterKeys(join(directory, "master.keys"), { clock })),
    );
    expect(new Set(opened.map((keys) => keys.latest().id)).size).toBe(1);
    expect(await readdir(directory)).toEqual(["master.keys"]);
  });

  test("is not made where data is encrypted already", async () => {
    const directory = await temporaryDirectory();
    const path = join(directory, "master.keys");
    await expect(openMasterKeys(path, { clock, isNeeded: true })).rejects.toThrow(
      `${path} is missing; without it stored data cannot be read`,
    );
    expect(await readdir(directory)).toEqual([]);
  });

  const key = Buffer.alloc(32, 7).toString("base64");

  // text, complaint
  test.for([
    ["", "has no master key"],
    ["precious", "has a line that is not a version and a key of 32 bytes"],
    [`1 ${key}\n1 ${key}\n`, "has a line that is not a version and a key of 32 bytes"],
    [`0 ${key}\n`, "has a line that is not a version and a key of 32 bytes"],
    ["1 c2hvcnQ=\n", "has a line that is not a version and a key of 32 bytes"],
  ] as const)("with %j is refused and kept", async ([content, complaint]) => {
    const directory = await temporaryDirectory();
    const path = join(directory, "master.keys");
    await writeFile(path, content);
    await expect(openMasterKeys(path, { clock })).rejects.toThrow(`${path} ${complaint}`);
    await expect(addMasterKey(path)).rejects.toThrow(complaint);
    expect(await readFile(path, "utf8")).toBe(content);
    expect(await readdir(directory)).toEqual(["master.keys"]);
  });

  test("that is given must hold a key", () => {
    expect(() => fixedMasterKeys([])).toThrow("there is no master key");
  });
});

describe("adding a master key", () => {
  test("keeps the older ones, and takes effect within a second", async () => {
    const path = join(await temporaryDirectory(), "master.keys");
    const ticking = new FakeClock();
    const keys = await openMasterKeys(path, { clock: ticking });
    const first = keys.latest();
    const added = await addMasterKey(path);
    expect([added.version, keys.latest().version]).toEqual([2, 1]);
    ticking.advance(1_000);
    expect([keys.latest(), keys.find(first.id)]).toEqual([added, first]);
    expect((await openMasterKeys(path, { clock })).latest()).toEqual(added);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(openFilesBelow(dirname(path))).toEqual([]);
  });

  test("leaves the file its mode", async () => {
    const path = join(await temporaryDirectory(), "master.keys");
    await openMasterKeys(path, { clock });
    await chmod(path, 0o640);
    await addMasterKey(path);
    expect((await stat(path)).mode & 0o777).toBe(0o640);
  });

  test.skipIf(process.getuid?.() !== 0)("leaves the file to the user who owns it (only root can try)", async () => {
    const path = join(await temporaryDirectory(), "master.keys");
    await openMasterKeys(path, { clock });
    await chown(path, 12_345, 54_321);
    await addMasterKey(path);
    const { uid, gid, mode } = await stat(path);
    expect([uid, gid, mode & 0o777]).toEqual([12_345, 54_321, 0o600]);
  });

  test("loses no key when several are added at once", async () => {
    const path = join(await temporaryDirectory(), "master.keys");
    await openMasterKeys(path, { clock });
    const settled = await Promise.allSettled(Array.from({ length: 8 }, () => addMasterKey(path)));
    const added = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    const keys = await openMasterKeys(path, { clock });
    expect(added.map(({ id }) => keys.find(id)?.version)).toEqual(added.map(({ version }) => version));
    expect(keys.latest().version).toBe(added.length + 1);
    expect(added.length).toBeGreaterThan(0);
  });

  test("is refused while another is under way, and where there is no file", async () => {
    const path = join(await temporaryDirectory(), "master.keys");
    await expect(addMasterKey(path)).rejects.toThrow(`there is no ${path}`);
    await expect(addMasterKey(join(path, "deeper"))).rejects.toThrow(`there is no ${path}`);
    await openMasterKeys(path, { clock });
    await writeFile(`${path}.next`, "");
    await expect(addMasterKey(path)).rejects.toThrow(
      `another key is being added; remove ${path}.next if that was cut off`,
    );
  });
});

describe("a changed file of master keys", () => {
  // what happens to it, complaint
  test.for([
    ["is removed", undefined, "is missing; without it stored data cannot be read"],
    ["is damaged", "1 short", "has a line that is not a version and a key of 32 bytes"],
    ["is another's", `1 ${Buffer.alloc(32, 9).toString("base64")}`, "lacks the master key that is in use"],
  ] as const)("is not used when it %s, which is logged", async ([, content, complaint]) => {
    const path = join(await temporaryDirectory(), "master.keys");
    const ticking = new FakeClock();
    const lines: (string | undefined)[] = [];
    const log = { error: ({ reason }: { reason: string }) => lines.push(reason) } as never;
    const keys = await openMasterKeys(path, { clock: ticking, log });
    const first = keys.latest();
    await (content === undefined ? rm(path) : writeFile(path, content));
    ticking.advance(1_000);
    expect(keys.latest()).toEqual(first);
    expect(lines).toEqual([`${path} ${complaint}`]);
  });
});

describe("a keyring's file", () => {
  const names = anyKeyNames;

  test("must be there and be the right one when something was wrapped", async () => {
    const directory = await temporaryDirectory();
    const path = join(directory, "master.keys");
    const keyring = await openKeyring({ path, names, clock, sample: undefined });
    const { key, wrapped } = keyring.createDataKey("", []);
    const missing = join(directory, "other.keys");
    await expect(openKeyring({ path: missing, names, clock, sample: wrapped })).rejects.toThrow(
      `${missing} is missing; without it stored data cannot be read`,
    );
    await openMasterKeys(missing, { clock });
    await expect(openKeyring({ path: missing, names, clock, sample: wrapped })).rejects.toThrow(
      `${missing} is not the one that stored data was encrypted with`,
    );
    await addMasterKey(path);
    const later = await openKeyring({ path, names, clock, sample: wrapped });
    expect([later.isStale(wrapped), later.openDataKey([], wrapped).export()]).toEqual([true, key.export()]);
  });
});
