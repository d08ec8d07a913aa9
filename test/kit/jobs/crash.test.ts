import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { describe, expect, it, onTestFinished } from "vitest";

import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { jobHarness, leftovers, openJobStore, started } from "./job-harness.ts";

const child = fileURLToPath(new URL("job-child.ts", import.meta.url));

describe("a process that is killed while it runs a job", () => {
  it("leaves the job to the next one, which runs it again at once", async () => {
    const directory = await temporaryDirectory();
    const running = spawn(process.execPath, [child, directory], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void running.kill("SIGKILL"));
    const [line] = (await once(createInterface({ input: running.stdout }), "line")) as [string];
    expect(line).toBe("running deliver-1, attempt 1");
    running.kill("SIGKILL");
    await once(running, "close");

    const store = await openJobStore(directory);
    expect(await leftovers(store)).toEqual({
      job_states: 2,
      jobs_ready: 1,
      jobs_scheduled: 1,
    });
    const { jobs, held } = await jobHarness({ store });
    jobs.start();
    const [run] = await started(held, 1);
    expect(run?.job.id).toBe("deliver-1");
    expect(run?.context.attempt).toBe(1);
    expect(Buffer.from(run?.job.payload ?? []).toString()).toBe("to be delivered");
    run?.end({ done: true });
    await jobs.idle();
    expect(await leftovers(store)).toEqual({ job_states: 1, jobs_scheduled: 1 });
  });
});
