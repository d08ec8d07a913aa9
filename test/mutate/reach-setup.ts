// Runs before each test file of a run with reach-config.ts: records which functions it and the processes that it starts
// run, in a directory of the file's own below REACH_DIRECTORY.
import { mkdirSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector";
import { join } from "node:path";

import { afterAll, expect } from "vitest";

import { directoryOf } from "./reach.ts";

const { testPath } = expect.getState();
const base = process.env["REACH_DIRECTORY"];
if (testPath === undefined || base === undefined) throw new Error("REACH_DIRECTORY is not set");
const directory = join(base, directoryOf(testPath));
mkdirSync(directory, { recursive: true });
// Processes write what they have run when they end by themselves.
process.env["NODE_V8_COVERAGE"] = directory;
const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

afterAll(() => {
  session.post("Profiler.takePreciseCoverage", (error, coverage) => {
    if (error === null) writeFileSync(join(directory, "coverage-worker.json"), JSON.stringify(coverage));
  });
  session.disconnect();
});
