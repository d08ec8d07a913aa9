import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import { createTransport } from "../../services/kit/client/transport.ts";
import { watchHealth } from "../../services/kit/client/service-health.ts";
import { eventually } from "../support/eventually.ts";
import { startSilentServer } from "../support/silent-server.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import type { Fixture } from "./support/fixture.ts";
import { startFixture } from "./support/fixture.ts";
import { headBytes, sendBytes } from "./support/raw-client.ts";
import { readyUrls } from "../support/ready-urls.ts";

const codeOf = (body: string): string | undefined => /<Code>(.*)<\/Code>/.exec(body)?.[1];

const hasty = { answerTimeoutMs: 50, uploadAnswerTimeoutMs: 50, stallTimeoutMs: 150 };

const startSilent = async (limits = hasty): Promise<Fixture> => {
  const fixture = await startFixture(limits, { servicesAddress: await startSilentServer() });
  onTestFinished(() => fixture.stop());
  return fixture;
};

describe("a service that accepts calls and does not answer", () => {
  test.each([
    // how the method is called, request
    ["one request, one answer", { method: "GET", target: "/" }],
    ["a streamed answer", { method: "GET", target: "/novels/emma" }],
    ["a streamed request", { method: "PUT", target: "/novels/emma", body: "Emma" }],
    [
      "a streamed request larger than the network holds",
      { method: "PUT", target: "/novels/emma", body: "E".repeat(2 ** 25) },
    ],
  ])("is told as 503 with a time to come again: %s", async (_name, request) => {
    const fixture = await startSilent();
    const response = await fixture.call("object-storage", "amz", request);
    expect([response.status, codeOf(response.body), response.headers["retry-after"]]).toEqual([
      503,
      "ServiceUnavailable",
      "1",
    ]);
  });

  test("is given up only after the whole upload has arrived, however long the client takes", async () => {
    const fixture = await startSilent({ ...hasty, stallTimeoutMs: 10_000 });
    const request = { method: "PUT", target: "/novels/emma", headers: { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" } };
    const head = { ...fixture.sign("object-storage", "amz", request), "content-length": "8" };
    const slow = sendBytes(fixture.url, `${headBytes("PUT", request.target, head)}Emma`);
    const outcome = await Promise.race([slow, new Promise((resolve) => setTimeout(() => resolve("still open"), 300))]);
    expect(outcome).toBe("still open");
    slow.catch(() => {});
  });
});

test("an answer that does not go on is cut", async () => {
  const fixture = await startFixture({ stallTimeoutMs: 50 });
  onTestFinished(() => fixture.stop());
  fixture.answer("GetBook", async function* ({ signal }) {
    yield { body: Buffer.from("Em") };
    await once(signal, "abort");
  });
  await expect(fixture.call("object-storage", "amz", { method: "GET", target: "/novels/emma" })).rejects.toThrow(
    /aborted|reset|hang up/,
  );
});

test.each([
  // what is sent, and whether the service is told until when it is waited for
  ["an upload that has arrived", { method: "PUT", target: "/novels/emma", body: "Emma" }, true],
  ["an upload that arrives in pieces", { method: "PUT", target: "/novels/emma", body: "E".repeat(2 ** 20) }, false],
  ["a download, which may take long", { method: "GET", target: "/novels/emma" }, false],
] as const)(
  "the service is told the deadline of %s: a process that was stopped refuses it",
  async (_what, request, isTold) => {
    const fixture = await startFixture({ uploadAnswerTimeoutMs: 30_000 });
    onTestFinished(() => fixture.stop());
    const told: boolean[] = [];
    const note = ({ deadlineMs }: { readonly deadlineMs: number | undefined }) => told.push(deadlineMs !== undefined);
    fixture.answer("PutBook", async (context, requests) => {
      note(context);
      for await (const _message of requests) continue;
      return {};
    });
    fixture.answer("GetBook", async function* (context) {
      note(context);
      yield { body: Buffer.from("Emma") };
    });
    expect((await fixture.call("object-storage", "amz", request)).status).toBe(200);
    expect(told).toEqual([isTold]);
  },
);

test("a process that is stopped is refused at once after its missed health checks, until it goes on", async () => {
  const directory = await temporaryDirectory();
  const child = fork(join(import.meta.dirname, "../../services/object-storage/main.ts"), {
    env: {
      ...process.env,
      QUARTET_DATA_DIR: directory,
      QUARTET_LOG_LEVEL: "silent",
      QUARTET_OBJECT_STORAGE_LISTEN: "127.0.0.1:0",
    },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  onTestFinished(async () => {
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  });
  const { rpc = "" } = await readyUrls(child);
  const transport = createTransport({ address: rpc, engine: "connect" });
  const changes: boolean[] = [];
  const health = watchHealth(transport, {
    intervalMs: 20,
    timeoutMs: 200,
    onChange: (isHanging) => changes.push(isHanging),
  });
  onTestFinished(async () => {
    await health.stop();
    await transport.close();
  });
  const limits = { answerTimeoutMs: 60_000, uploadAnswerTimeoutMs: 60_000 };
  const fixture = await startFixture(limits, { servicesAddress: rpc, health });
  onTestFinished(() => fixture.stop());

  child.kill("SIGSTOP");
  // What is running when the service is found hanging ends then, long before its own deadline.
  const running = await fixture.call("object-storage", "amz", { method: "PUT", target: "/novels/emma", body: "Emma" });
  expect([running.status, health.isHanging]).toEqual([503, true]);
  const refused = await fixture.call("object-storage", "amz", { method: "GET", target: "/" });
  expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "1"]);

  child.kill("SIGCONT");
  await eventually(() => !health.isHanging, "the service answers its checks");
  expect(changes).toEqual([true, false]);
}, 60_000);

test("a service that refuses connections is not taken for one that hangs", async () => {
  const transport = createTransport({ address: "http://127.0.0.1:1", engine: "connect", retry: { attemptsMax: 1 } });
  let checks = 0;
  const counting = {
    unary: ((...call) => {
      checks += 1;
      return transport.unary(...call);
    }) as typeof transport.unary,
  };
  const health = watchHealth(counting, { intervalMs: 1, missesMax: 1 });
  await eventually(() => checks > 5, "several checks were made");
  expect(health.isHanging).toBe(false);
  await health.stop();
  await transport.close();
});
