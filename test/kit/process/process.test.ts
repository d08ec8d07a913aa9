import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../../support/eventually.ts";

const startSlow = () => {
  const child = fork(join(import.meta.dirname, "slow-process.ts"), { stdio: ["pipe", "inherit", "inherit", "ipc"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const messages: unknown[] = [];
  child.on("message", (message) => messages.push(message));
  return { child, messages };
};

test("a process reports once a second that it opens, then that it is ready, and that it drains", async () => {
  const { child, messages } = startSlow();
  const opening = { opening: true };
  await eventually(() => messages.length === 2, "it has reported twice");
  expect(messages).toEqual([opening, opening]);
  child.stdin?.write("open\n");
  const ready = { ready: true, urls: { rpc: "http://127.0.0.1:1" } };
  await eventually(() => messages.some((message) => "ready" in (message as object)), "it is ready");
  expect(messages.filter((message) => !("opening" in (message as object)))).toEqual([ready]);
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
  expect(messages.at(-1)).toEqual({ draining: true });
});

test("a process whose launcher ends while it opens ends too", async () => {
  const { child, messages } = startSlow();
  await eventually(() => messages.length > 0, "it opens");
  child.disconnect();
  expect(await once(child, "exit")).toEqual([1, null]);
});
