import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import type { SupervisedOptions } from "../../services/launcher/supervisor.ts";
import { supervise } from "../../services/launcher/supervisor.ts";
import { capturingLogger } from "../support/capturing-logger.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { silentLogger } from "../support/silent-logger.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const optionsOf = (script: string, clock: FakeClock): SupervisedOptions => ({
  name: "shop",
  script: join(import.meta.dirname, script),
  argv: () => [],
  env: () => process.env,
  log: silentLogger,
  clock,
});

test("a process that dies again and again waits twice as long each time, from 200 ms; a steady one waits 200 ms", async () => {
  const clock = new FakeClock();
  const { log, lines } = capturingLogger();
  const supervised = await supervise({ ...optionsOf("ready-process.ts", clock), log });
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

test("messages that say nothing of a process's life are ignored, and logged once", async () => {
  const { log, lines } = capturingLogger();
  const probes: string[] = [];
  const clock = new FakeClock();
  const probe: SupervisedOptions["probe"] = (urls) => Promise.resolve(void probes.push(urls["pid"] ?? ""));
  const supervised = await supervise({ ...optionsOf("talking-process.ts", clock), log, probe });
  onTestFinished(() => supervised.stop(1_000));
  expect(supervised.urls).toEqual({ pid: String(supervised.pid) });
  expect(lines.map(({ msg }) => msg)).toEqual([
    "process sends messages that say nothing of its life; they are ignored",
  ]);
  // The ones after it have not ended the probing, as a drain does.
  await eventually(() => {
    clock.advance(3_000);
    return probes.length >= 3;
  }, "the process is probed");
});

test("a process that the system cannot start now is started later, and its launcher goes on", async () => {
  const clock = new FakeClock();
  const { log, lines } = capturingLogger();
  const programs = [process.execPath, "/no/such/program", process.execPath];
  const start: SupervisedOptions["spawn"] = (script, argv, env) =>
    spawn(programs.shift() ?? "", [script, ...argv], { stdio: ["ignore", "inherit", "inherit", "ipc"], env });
  const supervised = await supervise({ ...optionsOf("ready-process.ts", clock), log, spawn: start });
  onTestFinished(() => supervised.stop(1_000));
  const pid = supervised.urls["pid"];
  process.kill(Number(pid), "SIGKILL");
  await eventually(() => supervised.urls["pid"] !== pid, "the process is ready again");
  expect(lines.map(({ msg, waitMs }) => [msg, waitMs])).toEqual([
    ["process ended; starts again", 200],
    ["process cannot be started or signalled", undefined],
    ["start failed", undefined],
    ["process ended; starts again", 400],
  ]);
});

test("a process has few arenas of the allocator, which gives memory back, unless its environment says else", async () => {
  const env = { PATH: process.env["PATH"], MALLOC_ARENA_MAX: "4" };
  const supervised = await supervise({ ...optionsOf("ready-process.ts", new FakeClock()), env: () => env });
  onTestFinished(() => supervised.stop(1_000));
  const environment = await readFile(`/proc/${supervised.pid}/environ`, "utf8");
  expect(environment.split("\0").filter((line) => /^(MALLOC|UV)_/.test(line))).toEqual([
    "UV_THREADPOOL_SIZE=16",
    "MALLOC_ARENA_MAX=4",
    "MALLOC_MMAP_THRESHOLD_=131072",
    "MALLOC_TRIM_THRESHOLD_=131072",
  ]);
});

test("a process is started with its flags of Node, which are not its own arguments", async () => {
  const nodeFlags = ["--max-semi-space-size=16"];
  const supervised = await supervise({ ...optionsOf("ready-process.ts", new FakeClock()), nodeFlags });
  onTestFinished(() => supervised.stop(1_000));
  const commandLine = (await readFile(`/proc/${supervised.pid}/cmdline`, "utf8")).split("\0").slice(1, -1);
  expect(commandLine).toEqual(["--max-semi-space-size=16", join(import.meta.dirname, "ready-process.ts")]);
});

describe("a start", () => {
  test("of a process that reports nothing ends after 30 s", async () => {
    const clock = new FakeClock();
    const starting = supervise(optionsOf("silent-process.ts", clock));
    clock.advance(29_999);
    expect(clock.pending()).toHaveLength(2);
    clock.advance(1);
    await expect(starting).rejects.toThrow("shop reported nothing for 30000 ms");
    expect(clock.pending()).toEqual([]);
  });

  test("has twice as long after each one that reported nothing, until one is ready", async () => {
    const clock = new FakeClock();
    const { log, lines } = capturingLogger();
    const scripts = ["ready", "silent", "silent", "ready", "silent", "ready"];
    const start: SupervisedOptions["spawn"] = (_, argv, env) =>
      spawn(process.execPath, [join(import.meta.dirname, `${scripts.shift()}-process.ts`), ...argv], {
        stdio: ["ignore", "inherit", "inherit", "ipc"],
        env,
      });
    const supervised = await supervise({ ...optionsOf("", clock), log, spawn: start });
    onTestFinished(() => supervised.stop(1_000));
    for (const silences of [[30_000, 60_000], [30_000]]) {
      const pid = supervised.urls["pid"];
      process.kill(Number(pid), "SIGKILL");
      for (const silentMs of silences) {
        await eventually(() => clock.pending()[0] === clock.now() + silentMs, "a silent process is started");
        clock.advance(silentMs);
      }
      await eventually(() => supervised.urls["pid"] !== pid, "the process is ready again");
    }
    expect(lines.flatMap(({ err }) => (err as Error | undefined)?.message ?? [])).toEqual([
      "shop reported nothing for 30000 ms",
      "shop reported nothing for 60000 ms",
      "shop reported nothing for 30000 ms",
    ]);
  });

  const opening = async () => {
    const clock = new FakeClock();
    const startedMs = clock.now();
    const path = join(await temporaryDirectory(), "opened");
    const { log, lines } = capturingLogger();
    const starting = supervise({ ...optionsOf("opening-process.ts", clock), argv: () => [path], log });
    /** Lets time pass, and waits for a report, which puts off the end of the silence. */
    const report = async (atMs: number, endsMs: number): Promise<void> => {
      clock.set(startedMs + atMs);
      await eventually(() => clock.pending()[0] === startedMs + endsMs, "the process reports");
    };
    return { clock, path, lines, starting, report };
  };

  test("of a process that reports that it is opening its data goes on", async () => {
    const { clock, path, lines, starting, report } = await opening();
    await report(29_999, 59_999);
    await report(59_998, 89_998);
    await report(80_000, 110_000);
    await report(100_000, 130_000);
    await writeFile(path, "");
    const supervised = await starting;
    onTestFinished(() => supervised.stop(1_000));
    expect(supervised.pid).toBe(Number(supervised.urls["pid"]));
    expect(clock.pending()).toEqual([]);
    expect(lines.map(({ msg, openingMs }) => [msg, openingMs])).toEqual([
      ["process is still opening its data", 59_998],
      ["process is still opening its data", 100_000],
    ]);
  });

  test("ends after ten minutes in all", async () => {
    const { clock, starting, report } = await opening();
    for (let atMs = 20_000; atMs < 570_000; atMs += 20_000) await report(atMs, atMs + 30_000);
    await report(580_000, 600_000);
    clock.advance(20_000);
    await expect(starting).rejects.toThrow("shop was not ready within 600000 ms");
  });
});
