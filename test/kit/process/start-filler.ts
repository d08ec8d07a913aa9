import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { onTestFinished } from "vitest";

import { eventually } from "../../support/eventually.ts";

const script = join(import.meta.dirname, "filling-process.ts");

interface Line {
  readonly level: string | number;
  readonly msg: string;
  readonly err?: { readonly type: string };
}

/** Starts the filling service; no file that it writes can grow beyond `fileBlocksMax` blocks of 512 bytes. */
export const startFiller = async (dataDir: string, fileBlocksMax: string) => {
  const command = 'ulimit -f "$1" && exec "$2" "$3" --data-dir "$4"';
  const child: ChildProcess = spawn("sh", ["-c", command, "sh", fileBlocksMax, process.execPath, script, dataDir], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: Line[] = [];
  createInterface({ input: child.stdout! }).on("line", (line) => lines.push(JSON.parse(line) as Line));
  await eventually(() => lines.some(({ msg }) => msg === "ready"), "the process is ready");
  return { child, lines };
};
