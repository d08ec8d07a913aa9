import { describe, expect, test } from "vitest";

import { systemClock } from "../../../services/kit/clock/clock.ts";
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
});
