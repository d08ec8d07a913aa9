// Started by a scratch copy with its directory: when the process that started it has ended, in whatever way, ends the
// group of processes that it named last on standard input, and removes the directory.
import { rmSync } from "node:fs";
import { createInterface } from "node:readline";

const [directory] = process.argv.slice(2);
let group: number | undefined;

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  group = line === "" ? undefined : Number(line);
});
lines.once("close", () => {
  try {
    if (group !== undefined) process.kill(-group, "SIGKILL");
  } catch {
    // It has ended already.
  }
  if (directory !== undefined) rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
});
