import { describe, expect, it } from "vitest";

import { HandedJobs } from "../../../services/kit/jobs/handed-jobs.ts";

const mebibyte = 1024 * 1024;

const handed = (owner: string, n: number, bytes: number) => {
  const job = { id: `${owner}-${n}`, kind: "note", owner, payload: new Uint8Array(), sinceMs: 0, lastReason: "" };
  return {
    lease: { job, attempt: 1, holder: "", expiresMs: Infinity, isNew: true },
    readyMs: 0,
    bytes,
    after: undefined,
  };
};

/** Adds jobs of an owner until one has no room; returns how many are kept. */
const fill = (jobs: HandedJobs, owner: string, bytes: number): number => {
  let count = 0;
  while (jobs.add(handed(owner, count, bytes))) count += 1;
  return count;
};

describe("jobs in memory", () => {
  it("of one owner are as many as are left for all others", () => {
    const jobs = new HandedJobs();
    expect(["a", "b", "c", "d", "e"].map((owner) => fill(jobs, owner, 1_000))).toEqual([1_024, 1_024, 1_024, 512, 256]);
    expect(jobs.count).toBe(3_840);
    expect(jobs.hasRoom("f", 1_000)).toBe(true);
  });

  it("of one owner have as many bytes as are left for all others", () => {
    const jobs = new HandedJobs();
    expect(["a", "b", "c"].map((owner) => fill(jobs, owner, mebibyte))).toEqual([8, 4, 2]);
    expect(jobs.hasRoom("d", mebibyte)).toBe(true);
  });

  it("make room when they are taken or removed", () => {
    const jobs = new HandedJobs();
    fill(jobs, "a", mebibyte);
    expect(jobs.take("a", 3)).toHaveLength(3);
    jobs.remove("a-7");
    expect(jobs.count).toBe(4);
    expect(fill(jobs, "a", mebibyte)).toBe(4);
    expect(jobs.take("a", Infinity)).toHaveLength(8);
    expect(jobs.isEmpty).toBe(true);
    expect(jobs.hasRoom("a", 16 * mebibyte)).toBe(true);
  });
});
