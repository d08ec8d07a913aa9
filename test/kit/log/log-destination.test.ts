import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import { eventually } from "../../support/eventually.ts";
import { canMount, fillDisk, smallDisk } from "../../support/small-disk.ts";
import { readyUrls } from "../../support/ready-urls.ts";

const services = join(import.meta.dirname, "..", "..", "..", "services", "kit");

/**
 * A process that logs 200 bytes every 2 ms and answers a ping on its channel with how many lines it has logged. It is
 * asked by messages to log a burst, or to fail with an error that nothing handles.
 */
const script = `
  import { createLogger } from ${JSON.stringify(join(services, "log", "log.ts"))};
  import { runProcess } from ${JSON.stringify(join(services, "process", "process.ts"))};
  const log = createLogger({ name: "sample" });
  let count = 0;
  const logLines = (lines) => { for (let each = 0; each < lines; each += 1) log.info({ count: ++count, text: "x".repeat(150) }, "line"); };
  await runProcess(log, async () => {
    const logging = setInterval(() => logLines(1), 2);
    process.on("message", ({ burst, fail }) => {
      if (burst !== undefined) logLines(burst);
      if (fail !== undefined) throw new Error("fails as asked");
      process.send({ count });
    });
    return { urls: {}, stop: async () => clearInterval(logging) };
  });
`;

const startLogging = async (stdout: "pipe" | number) => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", stdout, "inherit", "ipc"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await readyUrls(child);
  /** Asks for something and waits for the answer, which a process that hangs does not give. */
  const ask = async (request: object): Promise<number> => {
    const answer = once(child, "message", { signal: AbortSignal.timeout(5_000) });
    child.send(request);
    const [{ count }] = (await answer) as [{ count: number }];
    return count;
  };
  return { child, ask };
};

interface Line {
  readonly msg: string;
  readonly count?: number;
  readonly dropped?: number;
}

const linesOf = (text: string): Line[] =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);

const countsOf = (lines: readonly Line[]): number[] =>
  lines.flatMap(({ count }) => (count === undefined ? [] : [count]));

const droppedIn = (lines: readonly Line[]): number => lines.reduce((sum, { dropped }) => sum + (dropped ?? 0), 0);

describe("a process whose log has a reader that does not read", () => {
  test("goes on, and writes every line or its part in the number of dropped ones when it is read", async () => {
    const { child, ask } = await startLogging("pipe");
    // 60,000 lines are more than the process and the system hold together.
    const before = await ask({ burst: 60_000 });
    expect(await ask({})).toBeGreaterThanOrEqual(before);
    let text = "";
    child.stdout?.setEncoding("utf8").on("data", (part: string) => (text += part));
    await eventually(() => droppedIn(linesOf(text)) > 0, "the number of dropped lines is logged", 20_000);
    const ended = once(child, "close");
    child.kill("SIGTERM");
    await ended;
    const lines = linesOf(text);
    const counts = countsOf(lines);
    expect(counts).toEqual(counts.toSorted((left, right) => left - right));
    expect(counts.length + droppedIn(lines)).toBe(counts.at(-1));
    expect(lines.at(-1)?.msg).toBe("stopped");
  });

  test("ends all the same, with its status, when it is stopped and when it fails", async () => {
    const stopped = await startLogging("pipe");
    await stopped.ask({ burst: 60_000 });
    stopped.child.kill("SIGTERM");
    expect(await once(stopped.child, "exit")).toEqual([0, null]);

    const failed = await startLogging("pipe");
    await failed.ask({ burst: 60_000 });
    failed.child.send({ fail: true });
    expect(await once(failed.child, "exit")).toEqual([1, null]);
  });
});

test("a process goes on when the reader of its log has gone", async () => {
  const { child, ask } = await startLogging("pipe");
  child.stdout?.destroy();
  const before = await ask({ burst: 1_000 });
  await eventually(async () => (await ask({})) > before + 100, "it logs on");
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
});

describe.skipIf(!canMount())("a process whose log is on a full disk", () => {
  test("goes on, and has lines again when there is room", async () => {
    const disk = await smallDisk(16);
    const file = openSync(join(disk, "log"), "a");
    onTestFinished(() => closeSync(file));
    const { child, ask } = await startLogging(file);
    const filling = await fillDisk(disk);
    // 30,000 lines are more than the process holds.
    await ask({ burst: 30_000 });
    await ask({});
    await filling.remove();
    const text = (): Promise<string> => readFile(join(disk, "log"), "utf8");
    await eventually(async () => (await text()).includes('"dropped"'), "the number of dropped lines is logged");
    child.kill("SIGTERM");
    await once(child, "exit");
    const lines = linesOf(await text());
    const counts = countsOf(lines);
    expect(counts.length + droppedIn(lines)).toBe(counts.at(-1));
  });

  test("ends with status 1 when it fails", async () => {
    const disk = await smallDisk(4);
    const file = openSync(join(disk, "log"), "a");
    onTestFinished(() => closeSync(file));
    const { child, ask } = await startLogging(file);
    await fillDisk(disk);
    await ask({ burst: 30_000 });
    child.send({ fail: true });
    expect(await once(child, "exit")).toEqual([1, null]);
  });
});
