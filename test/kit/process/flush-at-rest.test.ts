import { once } from "node:events";
import { join } from "node:path";

import { expect, test } from "vitest";

import { eventually } from "../../support/eventually.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { databaseFiles } from "../store/database-files.ts";
import { startFiller } from "./start-filler.ts";

const transactions = 160;
const logBytes = 2_600_000;

test("a service that comes to rest has its database write what it gathered in memory", async () => {
  const dataDir = await temporaryDirectory();
  const { child, lines } = await startFiller(dataDir, "unlimited");
  const directory = join(dataDir, "filler", "leveldb");
  child.stdin?.write(`fill ${transactions}\n`);
  await eventually(async () => (await databaseFiles(directory)).logBytes > logBytes, "all is written", 30_000);
  await eventually(async () => (await databaseFiles(directory)).logBytes === 0, "it is in a table", 100_000);
  expect((await databaseFiles(directory)).tables).toBe(1);
  child.kill("SIGTERM");
  expect(await once(child, "close")).toEqual([0, null]);
  expect(lines.map(({ msg }) => msg)).toEqual(["ready", "draining", "stopped"]);
}, 150_000);
