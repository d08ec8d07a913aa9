import { describe, expect, test } from "vitest";

import type { Running } from "../../../services/kit/jobs/running-jobs.ts";
import { RunningJobs } from "../../../services/kit/jobs/running-jobs.ts";

const leaseMs = 60_000;

const running = (
  id: string,
  change: { owner?: string; pool?: string; holder?: string; untilMs?: number } = {},
): Running => {
  const { owner = "ada", pool = "", holder = "h", untilMs = Number.POSITIVE_INFINITY } = change;
  const job = { id, kind: "look", owner, payload: new Uint8Array(), sinceMs: 0, lastReason: "" };
  return {
    lease: { job, attempt: 1, holder, expiresMs: 1_000, isNew: false },
    pool,
    abort: new AbortController(),
    untilMs,
  };
};

/** The runs of a process with these. */
const withRuns = (...runs: readonly Running[]): RunningJobs => {
  const jobs = new RunningJobs(leaseMs);
  for (const run of runs) jobs.add(run);
  return jobs;
};

describe("runs of jobs", () => {
  test("are counted by owner and by pool until they are removed, each once", () => {
    const [one, two, other] = [running("1"), running("2", { pool: "slow" }), running("3", { owner: "bob" })];
    const jobs = withRuns(one, two, other);
    const counts = () => [jobs.size, jobs.countOf("ada"), jobs.countOf("bob"), jobs.countIn(""), jobs.countIn("slow")];
    expect(counts()).toEqual([3, 2, 1, 2, 1]);
    jobs.remove(one);
    jobs.remove(one);
    expect(counts()).toEqual([2, 1, 1, 1, 1]);
    jobs.clear();
    expect([...counts(), [...jobs].length]).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test("that are ending hold no place, up to a number, and are counted once however often they end", () => {
    const [one, two, three] = [running("1"), running("2"), running("3")];
    const jobs = withRuns(one, two, three);
    const places = () => [0, 1, 2].map((endingMax) => jobs.placesOf("ada", endingMax));
    expect(places()).toEqual([3, 3, 3]);
    jobs.end(one);
    jobs.end(one);
    expect(places()).toEqual([3, 2, 2]);
    jobs.end(two);
    expect(places()).toEqual([3, 2, 1]);
    jobs.remove(one);
    expect(places()).toEqual([2, 1, 1]);
    jobs.remove(three);
    expect(places()).toEqual([1, 0, 0]);
  });

  test("that were removed before their handlers ended count nothing when these end", () => {
    const [lost, kept] = [running("1"), running("2")];
    const jobs = withRuns(lost, kept);
    jobs.remove(lost);
    jobs.end(lost);
    expect([jobs.placesOf("ada", 1), lost.isEnding]).toEqual([1, undefined]);
  });

  test("are known by job and holder, and those that end while jobs are looked for until that is over", () => {
    const [before, during] = [running("1", { holder: "a" }), running("2", { holder: "b" })];
    const jobs = withRuns(before, during);
    const knows = () => [jobs.has("1", "a"), jobs.has("2", "b"), jobs.has("2", "a")];
    expect(knows()).toEqual([true, true, false]);
    jobs.remove(before);
    jobs.beginTaking();
    jobs.remove(during);
    expect(knows()).toEqual([false, true, false]);
    jobs.endTaking();
    expect(knows()).toEqual([false, false, false]);
  });

  test("may begin until their age ends, and unless they are cancelled while jobs are looked for", () => {
    const jobs = withRuns();
    const { lease } = running("1");
    const may = () => [999, 1_000].map((nowMs) => jobs.mayBegin(lease, nowMs));
    jobs.abort("1");
    expect(may()).toEqual([true, false]);
    jobs.beginTaking();
    jobs.abort("1");
    expect(may()).toEqual([false, false]);
    jobs.endTaking();
    expect(may()).toEqual([true, false]);
  });

  test("are aborted by the ids of their jobs", () => {
    const [one, other] = [running("1"), running("2")];
    withRuns(one, other).abort("1");
    expect([one.abort.signal.reason, other.abort.signal.aborted]).toEqual([new Error("the job was cancelled"), false]);
  });

  test("are renewed when half of the first lease is left, and those that were lost are aborted", () => {
    const [early, late] = [running("1", { untilMs: 100_000 }), running("2", { untilMs: 130_000 })];
    const jobs = withRuns(late, early);
    expect(jobs.renewMs).toBe(70_000);
    jobs.settle([], [late], 69_999, 0);
    expect([jobs.renewMs, late.abort.signal.reason, early.abort.signal.aborted]).toEqual([
      70_000,
      new Error("the job was given to another runner"),
      false,
    ]);
    jobs.settle([early], [], 70_000, 130_000);
    expect([jobs.renewMs, late.untilMs]).toEqual([100_000, Number.POSITIVE_INFINITY]);
  });
});
