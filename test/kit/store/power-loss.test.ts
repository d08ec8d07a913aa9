import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { describe, expect, it } from "vitest";

import { StoreDamageError } from "../../../services/kit/store/errors.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { surveyParts } from "./parts.ts";
import { rounds } from "../../support/rounds.ts";
import { seededRandom } from "./seeded-random.ts";
import type { Loss } from "./traced-disk.ts";
import { canTrace, traceCalls, TracedDisk } from "./traced-disk.ts";

const child = fileURLToPath(new URL("store-child.ts", import.meta.url));

interface Damage {
  /** Answered commits that are not there whole. */
  lost: number[];
  /** Commits of which only a part is there. */
  broken: number[];
}

/** What a power loss does to a store at this moment. All is lost in one that cannot be opened any more. */
const loseAndOpen = async (disk: TracedDisk, loss: Loss, directory: string, recordBytes: number): Promise<Damage> => {
  await disk.leave(loss, directory);
  let whole = new Set<number>();
  let broken = new Set<number>();
  try {
    const store = await openStore({ directory, sync: false });
    ({ whole, broken } = await surveyParts(store, recordBytes));
    await store.close();
  } catch (error) {
    const isRefused = error instanceof StoreDamageError || (error as Error).message === "Database failed to open";
    if (!isRefused) throw error;
  }
  await rm(directory, { recursive: true });
  const lost = disk.lines.map(Number).filter((number) => !whole.has(number));
  return { lost, broken: [...broken] };
};

/** Two processes, one after the other, commit to one store; the power fails at many moments of their lives. */
const losses = async (sync: "sync" | "no-sync", moments: number, commits: number, recordBytes: number) => {
  const scratch = await temporaryDirectory();
  const directory = join(scratch, "store");
  const calls = [0, 1_000].flatMap((first) =>
    traceCalls(
      [process.execPath, child, directory, sync, `${first}`, `${commits}`, `${recordBytes}`],
      join(scratch, `calls-${first}`),
    ),
  );
  const random = seededRandom(3);
  const disk = new TracedDisk(directory);
  const damage: Damage = { lost: [], broken: [] };
  let opened = 0;
  for (const [index, call] of calls.entries()) {
    disk.apply(call);
    // Before the first answer there may be no database yet; nothing has been promised then.
    if (disk.lines.length === 0 || (index < calls.length - 1 && !random.chance(moments / calls.length))) continue;
    for (const names of ["kept", "undone"] as const)
      for (const tail of [0, random.fraction()]) {
        const found = await loseAndOpen(disk, { names, tail }, join(scratch, "left"), recordBytes);
        damage.lost.push(...found.lost);
        damage.broken.push(...found.broken);
        opened += 1;
      }
  }
  return { damage, opened, answered: disk.lines.length };
};

describe.skipIf(!canTrace())("a store whose power fails (seen through strace, skipped where that cannot trace)", () => {
  it("has every answered commit whole, and no commit in part", async () => {
    const { damage, opened, answered } = await losses("sync", rounds(15, 1_000), 40, 300);
    expect(answered).toBe(80);
    expect(opened).toBeGreaterThan(16);
    expect(damage).toEqual({ lost: [], broken: [] });
  }, 600_000);

  it("has them too when files are rotated and merged meanwhile", async () => {
    const { damage, answered } = await losses("sync", rounds(1, 200), 30, 60_000);
    expect(answered).toBe(60);
    expect(damage).toEqual({ lost: [], broken: [] });
  }, 600_000);

  it("loses answered commits when it is opened without sync, or this test would prove nothing", async () => {
    const { damage } = await losses("no-sync", 5, 40, 300);
    expect(damage.lost.length).toBeGreaterThan(0);
    expect(damage.broken).toEqual([]);
  }, 600_000);
});
