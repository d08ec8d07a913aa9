import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, readdir, stat } from "node:fs/promises";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { readyUrls } from "../../support/ready-urls.ts";

const script = join(import.meta.dirname, "filling-process.ts");

test("whatever a service stores is readable and writable only by its owner, also in a directory that is open to all", async () => {
  const dataDir = await temporaryDirectory();
  await chmod(dataDir, 0o755);
  const command = 'umask 022 && exec "$1" "$2" --data-dir "$3"';
  const child = spawn("sh", ["-c", command, "sh", process.execPath, script, dataDir], {
    stdio: ["pipe", "ignore", "inherit", "ipc"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await readyUrls(child);
  child.stdin?.write("fill\n");
  const leveldb = join(dataDir, "filler", "leveldb");
  // LevelDB makes new files in the course of time: logs, tables, manifests.
  await expect
    .poll(async () => (await readdir(leveldb)).filter((name) => name.endsWith(".ldb")).length, { timeout: 20_000 })
    .toBeGreaterThan(1);
  child.kill("SIGTERM");
  await once(child, "exit");
  const names = await readdir(dataDir, { recursive: true });
  const modes = await Promise.all(
    names.toSorted().map(async (name) => {
      const found = await stat(join(dataDir, name));
      return [name, (found.mode & 0o777).toString(8), found.isDirectory() ? "700" : "600"];
    }),
  );
  expect(names).toEqual(expect.arrayContaining(["filler/ballast", "filler/leveldb/durable", "filler/leveldb/CURRENT"]));
  expect(modes.filter(([, mode, wanted]) => mode !== wanted)).toEqual([]);
});
