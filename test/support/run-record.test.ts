import { expect, test } from "vitest";

import { RunRecord } from "./run-record.ts";
import { temporaryDirectory } from "./temporary-directory.ts";

test("a record adds up the runs of several processes, and names the seeds with findings", async () => {
  const path = `${await temporaryDirectory()}/runs.jsonl`;
  const first = new RunRecord(path);
  first.add({ of: "requests", seed: 1, seconds: 2, counts: { answered: 10, broken: 1 }, findings: [] });
  first.add({ of: "rounds", seed: 2, seconds: 5, counts: { kills: 3 }, findings: [] });
  const second = new RunRecord(path);
  second.add({ of: "requests", seed: 3, seconds: 4, counts: { answered: 20 }, findings: ["500"] });
  expect(second.count("requests", "answered")).toBe(30);
  expect(new RunRecord(path).sums()).toEqual([
    'requests: {"runs":2,"seconds":6,"answered":30,"broken":1,"seedsWithFindings":[3]}',
    'rounds: {"runs":1,"seconds":5,"kills":3,"seedsWithFindings":[]}',
  ]);
});
