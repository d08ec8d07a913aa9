import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import { readyUrls } from "../support/ready-urls.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const root = join(import.meta.dirname, "..", "..");
const openFilesMax = 256;
const idle = 400;

/** Starts a process that may have few files open; resolves with its id and where it listens. */
const startShort = async (script: string, flags: readonly string[]) => {
  const command = ["-c", `ulimit -n ${openFilesMax}; exec "$@"`, "sh", process.execPath, join(root, script)];
  const child = spawn("sh", [...command, `--data-dir=${await temporaryDirectory()}`, "--log-level=silent", ...flags], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return { pid: child.pid, urls: await readyUrls(child) };
};

const connected = async (url: string): Promise<Socket> => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined).resume();
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
};

// script, flags, where it is flooded, what is asked meanwhile, status
test.each([
  ["services/object-storage/main.ts", ["--listen=127.0.0.1:0"], "rpc", "/healthz", 200],
  ["services/refactoring-workspace/main.ts", ["--listen=127.0.0.1:0", "--proxy-listen=127.0.0.1:0"], "proxy", "/", 404],
  // Object storage is not running: the gateway's own answer.
  ["gateway/main.ts", ["--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0"], "http", "/", 503],
] as const)(
  `%s with ${openFilesMax} open files serves callers while ${idle} connections are idle`,
  { timeout: 60_000 },
  async (script, flags, purpose, path, status) => {
    const { pid, urls } = await startShort(script, flags);
    const url = urls[purpose] ?? "";
    const sockets: Socket[] = [];
    while (sockets.length < idle) sockets.push(await connected(url));
    await eventually(() => sockets.filter(({ closed }) => !closed).length < openFilesMax, "some were closed");
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => fetch(`${url}${path}`, { signal: AbortSignal.timeout(20_000) })),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(20).fill(status));
    const open = await readdir(`/proc/${pid}/fd`);
    expect(open.length).toBeLessThan(openFilesMax / 2);
  },
);
