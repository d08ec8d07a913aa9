// Run by the test of crashes, which traces it. Makes every step on a service in the directory, one after the other, and
// writes on standard output `begins <step> <clock>` and `answered <step>`. What callers see after each step is written
// into a file, as a JSON array of arrays of lines, of which the first is of before the first step.
//
//   node child.ts <directory> <file> <clock's start in milliseconds>
import { writeSync } from "node:fs";
import { writeFile } from "node:fs/promises";

import { FakeClock } from "../../support/fake-clock.ts";
import { openCrashService, snapshot } from "./service.ts";
import { prepare, steps } from "./steps.ts";

const [directory = "", file = "", startMs] = process.argv.slice(2);
const clock = new FakeClock(Number(startMs));
const service = await openCrashService(directory, clock, true);
await prepare(service);
const snapshots = [await snapshot(service)];
const memory = new Map<string, string>();
for (const [index, step] of steps.entries()) {
  writeSync(1, `begins ${index} ${clock.now() + (step.afterMs ?? 0)}\n`);
  clock.advance(step.afterMs ?? 0);
  await step.run(service, memory);
  writeSync(1, `answered ${index} ${clock.now()}\n`);
  snapshots.push(await snapshot(service));
}
await service.stop();
await writeFile(file, JSON.stringify(snapshots));
