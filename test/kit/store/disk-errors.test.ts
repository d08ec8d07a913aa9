import { cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { describe, expect, test } from "vitest";

import { openStore } from "../../../services/kit/store/store.ts";
import { rounds } from "../../support/rounds.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import type { DiskFault, DiskProcess } from "./faulty-disk.ts";
import { countDiskCalls, runWithFault, spread } from "./faulty-disk.ts";
import { surveyParts } from "./parts.ts";
import { canTrace } from "./traced-disk.ts";

const child = fileURLToPath(new URL("faulty-store-child.ts", import.meta.url));

/** All names that a LevelDB of this size may use. */
const pathsIn = (directory: string): string[] => [
  directory,
  ...["CURRENT", "LOCK", "durable", "durable.new"].map((name) => join(directory, name)),
  ...Array.from({ length: 40 }, (_, index) => String(index).padStart(6, "0")).flatMap((number) =>
    [`${number}.log`, `${number}.ldb`, `${number}.dbtmp`, `MANIFEST-${number}`].map((name) => join(directory, name)),
  ),
];

/** A process that opens a store, which may have been filled before, and adds commits. */
const processOn = (directory: string, bytes: number, first = 100, commits = 8): DiskProcess => ({
  command: [process.execPath, child, directory, `${first}`, `${commits}`, `${bytes}`],
  paths: pathsIn(directory),
});

const numbersOf = (lines: readonly string[], end: string): number[] =>
  lines.filter((line) => line.includes(` ${end}`)).map((line) => Number.parseInt(line, 10));

/** What a fault does to a store that has the commits 0 to 5, and is well again when it is opened the next time. */
const afterFault = async (before: string, fault: DiskFault, bytes: number) => {
  const directory = join(await temporaryDirectory(), "store");
  cpSync(before, directory, { recursive: true });
  const { status, lines } = runWithFault(processOn(directory, bytes), fault);
  const answered = numbersOf(lines, "answered");
  const refused = numbersOf(lines, "refused");
  const store = await openStore({ directory, sync: false });
  const { whole, broken } = await surveyParts(store, bytes);
  await store.close();
  return {
    status,
    last: lines.at(-1),
    lost: [0, 1, 2, 3, 4, 5, ...answered].filter((number) => !whole.has(number)),
    broken: [...broken],
    // After a write that failed none is answered, because nobody knows what the disk has of it.
    answeredLater: answered.filter((number) => number > Math.min(...refused)),
    others: lines.filter((line) => /refused (?!StoreWriteError$)/.test(line)),
  };
};

describe.skipIf(!canTrace())("a store whose disk answers EIO (through strace, skipped where that cannot trace)", () => {
  // records, bytes of each, at how many of the calls of a kind the disk fails in the short run
  test.each([
    ["small records", 300, 3],
    // Each run writes tables, and the next start merges them.
    ["records that fill tables", 1_000_000, 1],
  ])(
    "loses no answered commit, and answers none later: %s",
    async (_which, bytes, positions) => {
      const before = join(await temporaryDirectory(), "store");
      const filling = await countDiskCalls(processOn(before, bytes, 0, 6));
      expect(filling.get("fdatasync")).toBeGreaterThan(6);
      const copy = join(await temporaryDirectory(), "store");
      cpSync(before, copy, { recursive: true });
      const counts = await countDiskCalls(processOn(copy, bytes));
      const faults = [...counts].flatMap(([call, count]) =>
        spread(count, rounds(positions, 1_000)).map((at, index) => ({ call, at, isLasting: index % 2 === 1 })),
      );
      let seen = 0;
      for (const fault of faults) {
        const { last, ...found } = await afterFault(before, fault, bytes);
        const label = `${fault.call} ${fault.at} ${fault.isLasting}`;
        expect({ label, ...found }).toEqual({ label, status: 0, lost: [], broken: [], answeredLater: [], others: [] });
        if (last !== "read") seen += 1;
      }
      expect(seen).toBeGreaterThan(0);
    },
    600_000,
  );
});
