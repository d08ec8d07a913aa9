import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { ScratchCopy } from "./scratch-copy.ts";

/** A runner of tests of which one never ends: prints the process of the test. */
const program = `
  import { ScratchCopy } from ${JSON.stringify(join(import.meta.dirname, "scratch-copy.ts"))};
  const copy = new ScratchCopy(${JSON.stringify(join(import.meta.dirname, "../.."))});
  copy.write("test/hanging.test.ts", \`
    import { writeFileSync } from "node:fs";
    import { test } from "vitest";
    test("hangs", () => { writeFileSync(process.env.PID_FILE, String(process.pid)); for (;;); });
  \`);
  console.log("runs");
  await copy.run(["test/hanging.test.ts"], 600_000);
`;

const isRunning = (pid: number): boolean => existsSync(`/proc/${pid}`);

test.each(["SIGTERM", "SIGKILL"] as const)(
  "when the runner ends by %s, its tests end and its copy is removed",
  async (signal) => {
    const directory = await temporaryDirectory();
    const pidFile = join(directory, "pid");
    const runner = spawn(process.execPath, ["--input-type=module-typescript", "-e", program], {
      env: { ...process.env, TMPDIR: directory, PID_FILE: pidFile },
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void runner.kill("SIGKILL"));
    await once(createInterface({ input: runner.stdout }), "line");
    const pid = await eventually(async () => Number(await readFile(pidFile, "utf8")) || undefined, "the test runs");
    const copies = (): string[] => readdirSync(directory).filter((name) => name.startsWith("quartet-mutate-"));
    expect([copies().length, isRunning(pid)]).toEqual([1, true]);
    runner.kill(signal);
    await eventually(() => !isRunning(pid) && copies().length === 0, "nothing of the run is left");
    expect([copies(), isRunning(pid)]).toEqual([[], false]);
  },
);

test.each([
  // how often the process of the test is lost, whether the test passes
  [1, true],
  [2, false],
])("of a test file that loses its process %d times, a run passes: %s", async (times, passed) => {
  const copy = new ScratchCopy(join(import.meta.dirname, "../.."));
  onTestFinished(() => copy.remove());
  const lost = join(await temporaryDirectory(), "lost");
  copy.write(
    "test/lost.test.ts",
    `import { appendFileSync, readFileSync } from "node:fs";
     import { test } from "vitest";
     test("is lost", () => {
       appendFileSync(${JSON.stringify(lost)}, "a");
       if (readFileSync(${JSON.stringify(lost)}).length <= ${times}) process.kill(process.pid, "SIGKILL");
     });`,
  );
  expect((await copy.run(["test/lost.test.ts"], 60_000)).passed).toBe(passed);
});

test("the test that failed is named, also where other files of its run were not over", async () => {
  const copy = new ScratchCopy(join(import.meta.dirname, "../.."));
  onTestFinished(() => copy.remove());
  const content = (body: string) => `import { expect, test } from "vitest"; test("adds", () => { ${body} });`;
  const names = ["a", "b", "c"].map((name) => `test/${name}.test.ts`);
  for (const name of names) copy.write(name, content(name === "test/b.test.ts" ? "expect(1).toBe(2);" : ""));
  const { passed, failure, failedFile } = await copy.run(names, 60_000);
  expect([passed, failure, failedFile]).toEqual([false, "adds", "test/b.test.ts"]);
});
