import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { openBackupDirectory } from "../../services/launcher/backup/backup-directory.ts";
import { canMount, fillDisk, smallDisk } from "../support/small-disk.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const earlierBoot = "11111111-2222-4333-8444-555555555555";
/** The process of the test itself, which runs. */
const running = process.pid;
const absent = 999_999_999;

const someLock = "lock-11111111-2222-4333-8444-555555555555";

describe.each([someLock, "lock"])("%s", (name) => {
  test.each<[what: string, lock: string, outcome: string]>([
    ["a running process of this machine", `${running} ${hostname()} BOOT`, "refused"],
    [
      "one of this machine whose number another process has since its restart",
      `${running} ${hostname()} ${earlierBoot}`,
      "opened",
    ],
    ["a killed process of this machine", `${absent} ${hostname()} BOOT`, "opened"],
    ["a process of another machine", `${absent} another-host ${earlierBoot}`, "refused"],
    ["a running process, by a lock that names no start of the machine", `${running} ${hostname()}`, "refused"],
    ["nobody", "", "refused"],
  ])("a directory of backups that is locked by %s", async (_what, lock, outcome) => {
    const path = await temporaryDirectory();
    const boot = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
    await writeFile(join(path, name), `${lock.replace("BOOT", boot)}\n`);
    const opened = openBackupDirectory(path).then(
      async (directory) => {
        await directory.release();
        return "opened";
      },
      () => "refused",
    );
    expect(await opened).toBe(outcome);
  });
});

test("of processes that begin at once after one that was killed, one works", async () => {
  const path = await temporaryDirectory();
  for (let round = 0; round < 8; round += 1) {
    await writeFile(join(path, round % 2 === 0 ? "lock" : someLock), `${absent} ${hostname()}\n`);
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => openBackupDirectory(path)));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const outcome of outcomes) if (outcome.status === "fulfilled") await outcome.value.release();
    expect(await readdir(path)).toEqual([]);
  }
});

test("a process that ends its work leaves the lock of another one", async () => {
  const path = await temporaryDirectory();
  const first = await openBackupDirectory(path);
  // As an operator removes it who takes its process for gone.
  for (const name of await readdir(path)) await rm(join(path, name), { recursive: true });
  const second = await openBackupDirectory(path);
  const locks = async () => (await readdir(path)).filter((name) => name.startsWith("lock"));
  const held = await locks();
  await first.release();
  expect(await locks()).toEqual(held);
  await second.release();
});

test("what a process has left that was killed while it made its lock is removed", async () => {
  const path = await temporaryDirectory();
  await writeFile(join(path, `${someLock}.new`), "");
  const directory = await openBackupDirectory(path);
  expect((await readdir(path)).toSorted()).toEqual([expect.stringMatching(/^lock-[0-9a-f-]{36}$/), "temporary"]);
  await directory.release();
  expect(await readdir(path)).toEqual([]);
});

test.runIf(canMount())("a full disk leaves no lock, so that the next backup works when there is room", async () => {
  const path = await smallDisk(1);
  const filling = await fillDisk(path);
  await expect(openBackupDirectory(path)).rejects.toThrow("ENOSPC");
  expect(await readdir(path)).toEqual(["filling"]);
  await filling.remove();
  const directory = await openBackupDirectory(path);
  const name = (await readdir(path)).find((each) => each.startsWith("lock-")) ?? "";
  expect(await readFile(join(path, name), "utf8")).toMatch(/^\d+ \S+ \S+\n$/);
  await directory.release();
});
