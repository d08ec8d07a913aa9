import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { temporaryDirectory } from "../support/temporary-directory.ts";
import { reportOf } from "./run-report.ts";

const file = (name: string, seconds: number, ...statuses: string[]) => ({
  name,
  status: "passed",
  startTime: 1_000,
  endTime: 1_000 + seconds * 1_000,
  assertionResults: statuses.map((status, index) => ({ fullName: `test ${index}`, status })),
});

test("the report of a run counts its tests and names those that were skipped and the slowest files", () => {
  const testResults = [file("a.test.ts", 2, "passed", "skipped"), file("b.test.ts", 3.25, "failed", "pending")];
  expect(reportOf({ testResults })).toEqual({
    summary: ["2 files, 4 tests: 1 passed, 1 failed, 2 skipped", "3.3 s b.test.ts", "2.0 s a.test.ts"],
    skipped: ["a.test.ts: test 1", "b.test.ts: test 1"],
  });
});

test.each([
  // statuses, exit status, last line
  [["passed"], 0, "1.0 s a.test.ts"],
  [["passed", "skipped"], 1, "SKIPPED a.test.ts: test 1"],
])("a run that ended as %o is reported with status %i", async (statuses, status, lastLine) => {
  const results = join(await temporaryDirectory(), "results.json");
  await writeFile(results, JSON.stringify({ testResults: [file("a.test.ts", 1, ...statuses)] }));
  const ended = spawnSync(process.execPath, [join(import.meta.dirname, "run-report.ts"), results], {
    encoding: "utf8",
  });
  expect([ended.status, ended.stdout.trim().split("\n").at(-1)]).toEqual([status, lastLine]);
});
