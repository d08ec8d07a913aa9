import { fork } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import { heldConnections } from "../support/idle-connections.ts";
import { readyUrls } from "../support/ready-urls.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const callers = 2_000;

// script, flags, where it is called
test.each([
  ["services/object-storage/main.ts", ["--listen=127.0.0.1:0"], "rpc"],
  ["services/refactoring-workspace/main.ts", ["--listen=127.0.0.1:0", "--proxy-listen=127.0.0.1:0"], "proxy"],
  ["gateway/main.ts", ["--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0"], "http"],
] as const)(`%s gets all of ${callers} connections that are made while it is busy`, async (script, flags, purpose) => {
  const dataDir = await temporaryDirectory();
  const child = fork(join(import.meta.dirname, "../..", script), [...flags, `--data-dir=${dataDir}`], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const port = Number(new URL((await readyUrls(child))[purpose] ?? "").port);

  child.kill("SIGSTOP");
  const sockets = Array.from({ length: callers }, () => connect(port, "127.0.0.1").on("error", () => undefined));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  child.kill("SIGCONT");
  await eventually(async () => (await heldConnections(port)).size >= callers, "all of them are there");
  const held = await heldConnections(port);
  expect(sockets.filter(({ localPort }) => !held.has(localPort ?? 0))).toEqual([]);
});
