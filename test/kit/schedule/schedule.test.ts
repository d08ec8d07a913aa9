import { describe, expect, test } from "vitest";

import { nextRun, parseSchedule } from "../../../services/kit/schedule/schedule.ts";

/** The first runs of a schedule that was made at an instant; undefined: there are no more. */
const runs = (expression: string, from: string, count = 1): (string | undefined)[] => {
  const schedule = parseSchedule(expression);
  if (schedule === undefined) return [];
  const found: (string | undefined)[] = [];
  let atMs: number | undefined = Date.parse(from);
  while (atMs !== undefined && found.length < count) {
    atMs = nextRun(schedule, Date.parse(from), atMs);
    found.push(atMs === undefined ? undefined : new Date(atMs).toISOString());
  }
  return found;
};

describe("cron", () => {
  // expression | from | next run
  test.each([
    ["cron(0 12 * * ? *)", "2026-01-02T03:04:05Z", "2026-01-02T12:00:00.000Z"],
    ["cron(0 12 * * ? *)", "2026-01-02T12:00:00Z", "2026-01-03T12:00:00.000Z"],
    ["cron(0/15 * * * ? *)", "2026-01-02T03:16:00Z", "2026-01-02T03:30:00.000Z"],
    ["cron(0 18 ? * MON-FRI *)", "2026-01-02T18:00:00Z", "2026-01-05T18:00:00.000Z"],
    ["cron(0 8 1 * ? *)", "2026-01-02T00:00:00Z", "2026-02-01T08:00:00.000Z"],
    ["cron(0/5 8-17 ? * MON-FRI *)", "2026-01-02T17:55:00Z", "2026-01-05T08:00:00.000Z"],
    ["cron(0 0 L * ? *)", "2026-02-01T00:00:00Z", "2026-02-28T00:00:00.000Z"],
    ["cron(0 0 31W * ? *)", "2026-01-02T00:00:00Z", "2026-01-30T00:00:00.000Z"],
    ["cron(0 0 1W * ? *)", "2026-01-30T12:00:00Z", "2026-02-02T00:00:00.000Z"],
    ["cron(0 0 ? * 6L *)", "2026-01-02T00:00:00Z", "2026-01-30T00:00:00.000Z"],
    ["cron(0 0 ? * L *)", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00.000Z"],
    ["cron(0 9 ? * 2#1 *)", "2026-01-06T00:00:00Z", "2026-02-02T09:00:00.000Z"],
    ["cron(0 9 ? * 2#5 *)", "2026-01-06T00:00:00Z", "2026-03-30T09:00:00.000Z"],
    ["cron(0 0 29 FEB ? *)", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00.000Z"],
    ["cron(59 23 31 12 ? 2199)", "2026-01-01T00:00:00Z", "2199-12-31T23:59:00.000Z"],
    ["cron(0 0 1,15 JAN,JUL ? *)", "2026-01-02T00:00:00Z", "2026-01-15T00:00:00.000Z"],
    ["cron(0 20-2 * * ? *)", "2026-01-02T02:30:00Z", "2026-01-02T20:00:00.000Z"],
  ])("%s after %s is %s", (expression, from, next) => {
    expect(runs(expression, from)).toEqual([next]);
  });

  test.each([["cron(0 0 30 2 ? *)"], ["cron(0 0 1 1 ? 2020)"]])("%s never runs", (expression) => {
    expect(runs(expression, "2026-01-01T00:00:00Z")).toEqual([undefined]);
  });

  test.each([
    ["cron(* * * * * *)"],
    ["cron(* * ? * ? *)"],
    ["cron(0 12 * * ?)"],
    ["cron(60 12 * * ? *)"],
    ["cron(0 24 * * ? *)"],
    ["cron(0 0 0 * ? *)"],
    ["cron(0 0 32 * ? *)"],
    ["cron(0 0 ? 13 MON *)"],
    ["cron(0 0 ? * 8 *)"],
    ["cron(0 0 ? * 0 *)"],
    ["cron(0 0 ? * 2#6 *)"],
    ["cron(0 0 ? * 2#1,3#1 *)"],
    ["cron(0 0 ? * XYZ *)"],
    ["cron(0 0 1 * ? 1969)"],
    ["cron(0 0 1 * ? 2200)"],
    ["cron(0/0 0 1 * ? *)"],
    ["cron(a 0 1 * ? *)"],
    ["cron()"],
    ["cron( 0 12 * * ? *)"],
    ["0 12 * * ? *"],
  ])("%s is no schedule", (expression) => {
    expect(parseSchedule(expression)).toBeUndefined();
  });
});

describe("rate", () => {
  test("counts its periods from the beginning", () => {
    expect(runs("rate(5 minutes)", "2026-01-02T03:04:05Z", 2)).toEqual([
      "2026-01-02T03:09:05.000Z",
      "2026-01-02T03:14:05.000Z",
    ]);
    expect(runs("rate(1 hour)", "2026-01-02T03:04:05Z")).toEqual(["2026-01-02T04:04:05.000Z"]);
    expect(runs("rate(2 days)", "2026-01-02T03:04:05Z")).toEqual(["2026-01-04T03:04:05.000Z"]);
  });

  test.each([
    ["rate(10 seconds)"],
    ["rate(10 years)"],
    ["rate(0 minutes)"],
    ["rate(-10 minutes)"],
    ["rate(1 minutes)"],
    ["rate(2 minute)"],
    ["rate(10 minutess)"],
    ["rate(10 MINUTES)"],
    ["RATE(10 minutes)"],
    ["rate( 10 minutes)"],
    ["rate(10 minutes )"],
    [" rate(10 minutes)"],
    ["rate(10)"],
    ["rate(minutes)"],
    ["rate()"],
    ["rate(10minutes)"],
    ["rate(1.5 hours)"],
  ])("%s is no schedule", (expression) => {
    expect(parseSchedule(expression)).toBeUndefined();
  });
});
