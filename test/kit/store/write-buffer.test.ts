import { randomBytes } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { openStore } from "../../../services/kit/store/store.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { notes } from "./tables.ts";

const mebibyte = 1024 * 1024;

test("24 MiB of records become few tables, of about 8 MiB each", async () => {
  const directory = await temporaryDirectory();
  const store = await openStore({ directory, sync: false });
  onTestFinished(() => store.close());
  for (let number = 0; number < 24; number += 1)
    await store.transact((tx) => {
      const value = randomBytes(mebibyte / 2).toString("hex");
      tx.put(notes, ["alice", randomBytes(8).toString("hex")], { value });
    });
  await store.compact(notes, { prefix: [] });
  const tables = (await readdir(directory)).filter((name) => name.endsWith(".ldb"));
  const sizes = await Promise.all(tables.map(async (name) => (await stat(join(directory, name))).size));
  expect(Math.max(...sizes)).toBeGreaterThan(4 * mebibyte);
});
