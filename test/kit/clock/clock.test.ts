import { describe, expect, onTestFinished, test, vi } from "vitest";

import { isStillAhead, systemClock } from "../../../services/kit/clock/clock.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";

describe("the system clock", () => {
  test("has the machine's time", () => {
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1_000);
  });

  test("runs what is due, also what was due before", async () => {
    const ran: string[] = [];
    systemClock.schedule(Date.now() - 10, () => ran.push("past"));
    systemClock.schedule(Date.now() + 20, () => ran.push("soon"));
    await eventually(() => ran.length === 2, "both ran");
    expect(ran).toEqual(["past", "soon"]);
  });

  test("does not run what was cancelled, nor what lies beyond the longest timer", async () => {
    const ran: string[] = [];
    systemClock.schedule(Date.now() + 10, () => ran.push("cancelled"))();
    const cancelFar = systemClock.schedule(Date.now() + 2 ** 40, () => ran.push("far"));
    systemClock.schedule(Date.now() + 30, () => ran.push("last"));
    await eventually(() => ran.includes("last"), "the last ran");
    cancelFar();
    expect(ran).toEqual(["last"]);
  });
});

describe("the machine's time, set while something is scheduled", () => {
  const dayMs = 86_400_000;

  // by, delay, when it runs
  test.each([
    ["a day back", -dayMs, 30_000, 30_000],
    ["ten years back", -3_652 * dayMs, 3_600_000, 3_600_000],
    ["a day forward", dayMs, 30_000, 30_000],
    ["a day forward", dayMs, 3_600_000, 60_000],
    ["ten years forward", 3_652 * dayMs, 400 * dayMs, 60_000],
  ])("%s: %i ms, and a delay of %i ms ends after %i", (_which, byMs, delayMs, ranAfterMs) => {
    vi.useFakeTimers({ toFake: ["Date", "performance", "setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let runs = 0;
    systemClock.schedule(Date.now() + delayMs, () => (runs += 1));
    vi.setSystemTime(Date.now() + byMs);
    vi.advanceTimersByTime(ranAfterMs - 1);
    expect(runs).toBe(0);
    vi.advanceTimersByTime(1);
    expect(runs).toBe(1);
  });

  // instant, longest delay, now, whether it is still ahead
  test.each([
    [1_000, 100, 999, true],
    [1_000, 100, 900, true],
    [1_000, 100, 1_000, false],
    [1_000, 100, 899, false],
  ])("an instant at %i, at most %i ms ahead, at %i: %s", (atMs, delayMsMax, nowMs, isAhead) => {
    expect(isStillAhead(atMs, delayMsMax, nowMs)).toBe(isAhead);
  });
});

describe("the fake clock", () => {
  test("does not advance until it is moved, and then runs what is due in order", () => {
    const clock = new FakeClock(1_000);
    const ran: number[] = [];
    clock.schedule(1_500, () => ran.push(1_500));
    clock.schedule(1_200, () => ran.push(1_200));
    clock.schedule(2_000, () => ran.push(2_000));
    clock.advance(600);
    expect([clock.now(), ran, clock.pending()]).toEqual([1_600, [1_200, 1_500], [2_000]]);
  });

  test("keeps the delays that are left when it is set back", () => {
    const clock = new FakeClock(86_400_000);
    const ran: number[] = [];
    clock.schedule(86_400_500, () => ran.push(clock.now()));
    clock.setBack(86_400_000);
    clock.advance(499);
    expect(ran).toEqual([]);
    clock.advance(1);
    expect(ran).toEqual([500]);
  });
});
