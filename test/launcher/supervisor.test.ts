import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { supervise } from "../../services/launcher/supervisor.ts";
import { capturingLogger } from "../support/capturing-logger.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake-clock.ts";

test("a process that dies again and again waits twice as long each time, from 200 ms; a steady one waits 200 ms", async () => {
  const clock = new FakeClock();
  const { log, lines } = capturingLogger();
  const supervised = await supervise({
    name: "ready",
    script: join(import.meta.dirname, "ready-process.ts"),
    argv: () => [],
    env: () => process.env,
    log,
    clock,
  });
  onTestFinished(() => supervised.stop(1_000));
  // What each run lasts before it is killed.
  for (const livedMs of [0, 0, 30_001, 0]) {
    const pid = supervised.urls["pid"];
    clock.advance(livedMs);
    process.kill(Number(pid), "SIGKILL");
    await eventually(() => supervised.urls["pid"] !== pid, "the process is ready again");
  }
  expect(lines.map(({ waitMs }) => waitMs)).toEqual([200, 400, 200, 400]);
});
