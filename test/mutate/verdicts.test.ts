import { join } from "node:path";

import { expect, test } from "vitest";

import { temporaryDirectory } from "../support/temporary-directory.ts";
import type { Verdict } from "./verdicts.ts";
import { RunRecord } from "./verdicts.ts";

const judged = (id: string, verdict: Verdict) => ({ judged: { id, line: 1, verdict, by: "", seconds: 1 } });

test("a test file that failed on unchanged sources is tried again, and what survived without it is open again", async () => {
  const path = join(await temporaryDirectory(), "record.jsonl");
  const before = new RunRecord(path);
  before.add({ test: "a.test.ts", seconds: 1, reached: ["a.ts#check"] });
  before.add({ test: "b.test.ts", seconds: 1, reached: ["a.ts#check"] });
  before.add(judged("caught one", "caught"));
  before.add(judged("surviving one", "survived"));
  const steady = new RunRecord(path);
  steady.retryTests();
  expect([steady.knowsTest("b.test.ts"), steady.find("surviving one")?.verdict]).toEqual([true, "survived"]);

  before.add({ test: "b.test.ts", seconds: undefined, reached: [] });
  const after = new RunRecord(path);
  after.retryTests();
  expect([after.knowsTest("a.test.ts"), after.knowsTest("b.test.ts")]).toEqual([true, false]);
  expect([after.find("caught one")?.verdict, after.find("surviving one")]).toEqual(["caught", undefined]);
});
