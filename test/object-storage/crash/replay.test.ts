/*
 * Goal: whatever the service is doing when it is killed or the power fails, each answered change is there whole, the
 * one in progress is there whole or not at all, and after the sweep there is no file that nothing refers to. Method: a
 * process makes every kind of write and of work, one after the other, while strace records what it does to its files.
 * The record is replayed up to an instant, as a kill or a power loss leaves it, and the service is opened on that: at
 * the first instant of each name in each step, for power losses every third, and under `npm run soak` at all of them.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { seededRandom } from "../../kit/store/seeded-random.ts";
import type { Call, Loss } from "../../kit/store/traced-disk.ts";
import { canTrace, strings, traceCalls } from "../../kit/store/traced-disk.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { isSoak } from "../../support/rounds.ts";
import { leaksOf } from "./leaks.ts";
import { ReplayedTree } from "./replayed-tree.ts";
import { openCrashService, snapshot } from "./service.ts";
import { steps } from "./steps.ts";

const child = fileURLToPath(new URL("child.ts", import.meta.url));
const seed = 20_261_122;

/** How far the process had come, by what it had written. */
interface Progress {
  /** What callers saw is the snapshot of this number; that of the next one may be there if a step has begun. */
  answered: number;
  isInStep: boolean;
  clockMs: number;
}

/** The name of the instant after a call, by what it did to which file below the directory. */
const instants: readonly (readonly [RegExp, string])[] = [
  [/^write blobs\/temporary\//, "content is written"],
  [/^sync blobs\/temporary\//, "content is synced"],
  [/^move blobs\/v2\//, "the blob is renamed"],
  [/^sync blobs\/v2\//, "the blob's name is synced"],
  [/^remove blobs\/v2\//, "a blob is removed"],
  [/^write leveldb\/\d+\.log$/, "before commit: the log is written"],
  [/^sync leveldb\/\d+\.log$/, "after commit: the log is synced"],
  [/^(?:create|sync|move|remove) master\.keys/, "the master keys are changed"],
];

const scratch = { base: "", directory: "", calls: [] as Call[], snapshots: [] as string[][], startMs: 0 };

beforeAll(async () => {
  if (!canTrace()) return;
  const base = await mkdtemp(join(tmpdir(), "quartet-test-"));
  scratch.base = base;
  scratch.directory = join(base, "data");
  scratch.startMs = Date.now();
  const command = [process.execPath, child, scratch.directory, join(base, "snapshots"), `${scratch.startMs}`];
  scratch.calls = traceCalls(command, join(base, "calls"));
  scratch.snapshots = JSON.parse(await readFile(join(base, "snapshots"), "utf8")) as string[][];
}, 120_000);

afterAll(async () => {
  if (scratch.base !== "") await rm(scratch.base, { recursive: true });
});

/** Replays all calls, and looks at each instant that is chosen. */
const replay = async (
  chooses: (instant: string, step: string) => boolean,
  look: (tree: ReplayedTree, progress: Progress, where: string) => Promise<void>,
  isLost?: (path: string) => boolean,
): Promise<Set<string>> => {
  const tree = new ReplayedTree(scratch.directory);
  const progress: Progress = { answered: -1, isInStep: false, clockMs: scratch.startMs };
  const seen = new Set<string>();
  for (const call of scratch.calls) {
    const did = tree.apply(call, isLost)?.replace(`${scratch.directory}/`, "");
    const line = call.name === "write" && call.args.startsWith("1<") ? strings(call.args)[0]!.toString() : "";
    const [, word, number, clockMs] = /^(begins|answered) (\d+) (\d+)/.exec(line) ?? [];
    if (word !== undefined) {
      const isBegun = word === "begins";
      Object.assign(progress, { answered: Number(number) + (isBegun ? 0 : 1), isInStep: isBegun });
      progress.clockMs = Number(clockMs);
    }
    // Before the first step nothing was answered.
    if (progress.answered < 0) continue;
    const name = word === "answered" ? "answered" : instants.find(([shape]) => shape.test(did ?? ""))?.[1];
    const step = steps[progress.answered - (progress.isInStep ? 0 : 1)]?.name ?? "";
    if (name === undefined || !chooses(name, step)) continue;
    seen.add(name);
    await look(tree, progress, `${step}: ${name}`);
  }
  return seen;
};

/** The first instant of each name in each step; under `npm run soak` every one. */
const firstOfEach = () => {
  const chosen = new Set<string>();
  return (instant: string, step: string): boolean => {
    const isNew = !chosen.has(`${step} ${instant}`);
    chosen.add(`${step} ${instant}`);
    return isNew || isSoak;
  };
};

/** What is wrong with what a crash left: nothing, if it is empty. */
const faultsOf = async (directory: string, progress: Progress): Promise<string[]> => {
  const clock = new FakeClock(progress.clockMs);
  const service = await openCrashService(directory, clock, false);
  try {
    await service.opened.jobs.idle();
    await service.opened.lifecycle.run(new AbortController().signal);
    const left = await snapshot(service);
    const allowed = scratch.snapshots.slice(progress.answered, progress.answered + (progress.isInStep ? 2 : 1));
    const faults = allowed.some((lines) => lines.join("\n") === left.join("\n")) ? [] : differences(allowed, left);
    return [...faults, ...(await leaksOf(service))];
  } finally {
    await service.stop();
  }
};

const differences = (allowed: readonly (readonly string[])[], left: readonly string[]): string[] => [
  ...left.filter((line) => !allowed.flat().includes(line)).map((line) => `there is ${line}`),
  ...(allowed[0] ?? []).filter((line) => !left.includes(line)).map((line) => `missing ${line}`),
];

/** Leaves what a loss leaves, finds what is wrong with it, and removes it. */
const faultsAfter = async (tree: ReplayedTree, progress: Progress, loss: Loss): Promise<string[]> => {
  const directory = join(scratch.base, "left");
  await tree.leave(loss, directory);
  try {
    return await faultsOf(directory, progress);
  } finally {
    await rm(directory, { recursive: true });
  }
};

describe.skipIf(!canTrace())("at every named instant of every write (skipped where strace cannot trace)", () => {
  test("a kill loses nothing that was answered, leaves nothing in part and no file too many", async () => {
    const found: string[] = [];
    const seen = await replay(firstOfEach(), async (tree, progress, where) => {
      const faults = await faultsAfter(tree, progress, { names: "kept", tail: 1 });
      found.push(...faults.map((fault) => `${where}: ${fault}`));
    });
    expect(found).toEqual([]);
    expect([...seen].toSorted()).toEqual(["answered", ...instants.map(([, name]) => name)].toSorted());
  }, 3_600_000);

  test("a power loss loses nothing either, in the files of content and in the database together", async () => {
    const found: string[] = [];
    const random = seededRandom(seed);
    let [looked, passed] = [0, 0];
    await replay(firstOfEach(), async (tree, progress, where) => {
      passed += 1;
      if (!isSoak && passed % 3 > 0) return;
      const losses: Loss[] = [
        { names: "undone", tail: 0 },
        { names: "kept", tail: random.fraction() },
      ];
      for (const loss of isSoak ? losses : [losses[looked % 2]!]) {
        const faults = await faultsAfter(tree, progress, loss);
        found.push(...faults.map((fault) => `${where}, names ${loss.names}, ${loss.tail}: ${fault}`));
        looked += 1;
      }
    });
    expect(found).toEqual([]);
    expect(looked).toBeGreaterThan(50);
  }, 3_600_000);

  test.each([["blobs/temporary/"], ["blobs/v2"]])(
    "a power loss loses answered content if syncs of %s do nothing, or these tests would prove nothing",
    async (path) => {
      const found: string[] = [];
      await replay(
        (instant, step) => instant === "answered" && step === "put a file",
        async (tree, progress) => {
          found.push(...(await faultsAfter(tree, progress, { names: "undone", tail: 0 })));
        },
        (lost) => lost.includes(`/data/${path}`),
      );
      expect(found.filter((fault) => fault.startsWith("missing plain/file"))).toHaveLength(1);
    },
  );
});
