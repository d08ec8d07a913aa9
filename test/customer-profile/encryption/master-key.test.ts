import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { loadMasterKey } from "../../../services/customer-profile/encryption/master-key.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

test("the master key is made once, for the service's user only", async () => {
  const directory = join(await temporaryDirectory(), "new");
  const path = join(directory, "master.key");
  const first = await loadMasterKey(path, false);
  expect(first).toHaveLength(32);
  expect(await loadMasterKey(path, false)).toEqual(first);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(directory)).toEqual(["master.key"]);
});

test("processes that start together use one key", async () => {
  const path = join(await temporaryDirectory(), "master.key");
  const keys = await Promise.all([1, 2, 3, 4].map(() => loadMasterKey(path, false)));
  expect(new Set(keys.map((key) => Buffer.from(key).toString("hex"))).size).toBe(1);
});

test("a damaged master key stops the start", async () => {
  const path = join(await temporaryDirectory(), "master.key");
  await writeFile(path, "too short");
  await expect(loadMasterKey(path, false)).rejects.toThrow("is no master key: it must hold 32 bytes");
});

test("a missing master key is not made anew when data is encrypted", async () => {
  const path = join(await temporaryDirectory(), "master.key");
  await expect(loadMasterKey(path, true)).rejects.toThrow("is missing");
});
