import { describe, expect, test } from "vitest";

import { runPeriodically } from "../../../services/kit/periodic/periodic.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const intervalMs = 60_000;

describe("runPeriodically", () => {
  test("runs all tasks at once, in order, and again after each interval", async () => {
    const clock = new FakeClock();
    const ran: string[] = [];
    const tasks = { first: async () => ran.push("first"), second: async () => ran.push("second") };
    const stop = runPeriodically({ clock, log: capturingLogger().log, intervalMs, tasks });
    await eventually(() => clock.pending().length === 1, "the round has ended");
    expect(ran).toEqual(["first", "second"]);

    clock.advance(intervalMs - 1);
    expect(ran).toHaveLength(2);
    clock.advance(1);
    await eventually(() => ran.length === 4 && clock.pending().length === 1, "the second round has ended");
    expect(ran).toEqual(["first", "second", "first", "second"]);
    await stop();
  });

  test("begins later where it is told to, and not at all when it was stopped before", async () => {
    const clock = new FakeClock();
    let rounds = 0;
    const tasks = { count: async () => (rounds += 1) };
    const start = () => runPeriodically({ clock, log: capturingLogger().log, intervalMs, firstAfterMs: 5_000, tasks });
    const stop = start();
    const stopOther = start();
    await stopOther();
    clock.advance(4_999);
    expect(rounds).toBe(0);
    clock.advance(1);
    await eventually(() => rounds === 1 && clock.pending().length === 1, "the first round has ended");
    clock.advance(intervalMs);
    await eventually(() => rounds === 2 && clock.pending().length === 1, "the second round has ended");
    await stop();
  });

  test("logs a task that fails, runs the others, and runs it again", async () => {
    const clock = new FakeClock();
    const { log, lines } = capturingLogger();
    const ran: string[] = [];
    const failing = async () => {
      ran.push("failing");
      throw new Error("the disk is away");
    };
    const stop = runPeriodically({ clock, log, intervalMs, tasks: { failing, other: async () => ran.push("other") } });
    await eventually(() => clock.pending().length === 1, "the round has ended");
    expect(ran).toEqual(["failing", "other"]);
    expect(lines).toMatchObject([
      {
        level: 50,
        task: "failing",
        err: { message: "the disk is away" },
        msg: "a periodic task failed; it runs again after the interval",
      },
    ]);

    clock.advance(intervalMs);
    await eventually(() => ran.length === 4 && clock.pending().length === 1, "the second round has ended");
    expect(ran).toEqual(["failing", "other", "failing", "other"]);
    await stop();
  });

  test("ends after the task that runs, which sees that it should end, and begins no other", async () => {
    const clock = new FakeClock();
    const gate = Promise.withResolvers<void>();
    const ran: string[] = [];
    const slow = async (signal: AbortSignal) => {
      await gate.promise;
      ran.push(`slow, to end: ${signal.aborted}`);
    };
    const tasks = { slow, other: async () => ran.push("other") };
    const stop = runPeriodically({ clock, log: capturingLogger().log, intervalMs, tasks });
    const stopped = stop().then(() => ran.push("stopped"));
    gate.resolve();
    await stopped;
    expect(ran).toEqual(["slow, to end: true", "stopped"]);
    expect(clock.pending()).toEqual([]);
  });

  test("begins no further round when it is ended during the last task of one", async () => {
    const clock = new FakeClock();
    const gate = Promise.withResolvers<void>();
    const tasks = { only: () => gate.promise };
    const stop = runPeriodically({ clock, log: capturingLogger().log, intervalMs, tasks });
    const stopped = stop();
    gate.resolve();
    await stopped;
    expect(clock.pending()).toEqual([]);
  });
});
