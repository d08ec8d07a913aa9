import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { expect, test } from "vitest";

import { connectionsFor } from "../../../services/kit/process/descriptors.ts";

// limit of connections, limit of open files, connections
test.each([
  [10_000, Infinity, 10_000],
  [10_000, 1_048_576, 10_000],
  [10_000, 21_064, 10_000],
  [10_000, 20_000, 9_468],
  [10_000, 1_024, 377],
  [10_000, 256, 70],
  [10_000, 64, 16],
  [4, 64, 4],
])("of %i connections, a process with %i open files has %i", (limit, descriptorsMax, expected) => {
  expect(connectionsFor(limit, descriptorsMax)).toBe(expected);
});

test("a process has as many connections as ulimit -n allows", async () => {
  const module = join(import.meta.dirname, "../../../services/kit/process/descriptors.ts");
  const script = `import("${module}").then(({ connectionsFor }) => process.stdout.write(String(connectionsFor(10_000))))`;
  const child = spawn("sh", ["-c", 'ulimit -n 300; exec "$@"', "sh", process.execPath, "-e", script]);
  const [printed] = await Promise.all([text(child.stdout), once(child, "close")]);
  expect(printed).toBe("88");
});
