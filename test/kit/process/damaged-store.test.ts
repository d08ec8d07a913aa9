import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { expect, onTestFinished, test } from "vitest";

import { openStore } from "../../../services/kit/store/store.ts";
import { eventually } from "../../support/eventually.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { notes } from "../store/tables.ts";

const script = join(import.meta.dirname, "filling-process.ts");

interface Line {
  readonly msg: string;
  readonly first?: number;
  readonly last?: number;
  readonly err?: { readonly type: string; readonly message: string };
}

/**
 * Runs the service until it is ready, and then stops it, or until it ends by itself; returns its status and its log.
 */
const run = async (dataDir: string, ...flags: string[]): Promise<{ status: unknown; lines: Line[] }> => {
  const child = spawn(process.execPath, [script, "--data-dir", dataDir, ...flags], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: Line[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(JSON.parse(line) as Line));
  const ended = once(child, "close");
  await eventually(
    () => child.exitCode !== null || lines.some(({ msg }) => msg === "ready"),
    "it is ready or has ended",
    20_000,
  );
  child.kill("SIGTERM");
  const [status] = await ended;
  return { status, lines };
};

test("a service whose database lacks commits says which and does not start, unless their loss is accepted", async () => {
  const dataDir = await temporaryDirectory();
  const directory = join(dataDir, "filler", "leveldb");
  const store = await openStore({ directory });
  for (const title of ["a", "b", "c"])
    await store.transact((tx) => tx.put(notes, ["alice", title], { value: "x".repeat(1_000) }));
  await store.close();
  const log = (await readdir(directory)).find((name) => name.endsWith(".log")) ?? "";
  await truncate(join(directory, log), 1_500);

  const refused = await run(dataDir);
  expect(refused.status).toBe(1);
  expect(refused.lines.at(-1)?.msg).toMatch(
    /^cannot start: .* is damaged: commits 2 to 3 are missing, committed after \S+Z and not after \S+Z; restore it from a backup, or start with --accept-loss yes/,
  );

  const accepted = await run(dataDir, "--accept-loss", "yes");
  expect(accepted.status).toBe(0);
  expect(accepted.lines.find(({ msg }) => msg === "goes on without commits")).toMatchObject({ first: 2, last: 3 });
  expect((await run(dataDir)).status).toBe(0);
});

test("a service does not start with the data of a newer program, and says so in a sentence", async () => {
  const dataDir = await temporaryDirectory();
  await mkdir(join(dataDir, "filler"));
  await writeFile(join(dataDir, "filler", "format"), '{"format":7,"program":"3.0.0"}');
  const refused = await run(dataDir);
  expect(refused.status).toBe(1);
  expect(refused.lines.at(-1)?.msg).toBe(
    `cannot start: the data in ${join(dataDir, "filler")} has format 7, of Quartet 3.0.0, and this is Quartet 0.1.0, ` +
      "which reads formats up to 1; start that version, or restore a backup that this one wrote",
  );
});
