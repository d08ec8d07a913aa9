import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { createClient } from "@connectrpc/connect";
import { expect, onTestFinished, test } from "vitest";

import { Health, HealthCheckResponse_ServingStatus as Status } from "../../../gen/grpc/health/v1/health_pb.ts";
import { ErrorReasonSchema } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { startRpcEndpoint } from "../../../gateway/rpc/rpc-endpoint.ts";
import { watchHealth } from "../../../services/kit/client/service-health.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { systemClock } from "../../../services/kit/clock/clock.ts";
import { eventually } from "../../support/eventually.ts";
import { readyUrls } from "../../support/ready-urls.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

test("health checks about a service follow its process while it is stopped, goes on and is killed", async () => {
  const child = fork(join(import.meta.dirname, "../../../services/object-storage/main.ts"), {
    env: {
      ...process.env,
      QUARTET_DATA_DIR: await temporaryDirectory(),
      QUARTET_LOG_LEVEL: "silent",
      QUARTET_OBJECT_STORAGE_LISTEN: "127.0.0.1:0",
    },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const { rpc = "" } = await readyUrls(child);
  const transport = createTransport({ address: rpc, engine: "connect" });
  const health = watchHealth(transport, { intervalMs: 20, timeoutMs: 200 });
  const endpoint = await startRpcEndpoint({
    listen: { host: "127.0.0.1", port: 0 },
    connections: [
      { service: ObjectStorageService, errors: ErrorReasonSchema, transport, audience: "object-storage", health },
    ],
    minter: { mint: async () => "" },
    publicKeys: new Map(),
    allowedOrigins: [],
    clock: systemClock,
    log: silentLogger,
  });
  const asking = createTransport({ address: endpoint.url, engine: "grpc" });
  const stop = new AbortController();
  onTestFinished(async () => {
    stop.abort();
    await health.stop();
    await asking.close();
    await endpoint.stop(0);
    await transport.close();
  });
  const client = createClient(Health, asking);
  const statusOf = async (service: string): Promise<Status> => (await client.check({ service })).status;
  const watched: Status[] = [];
  const watching = (async () => {
    const changes = client.watch({ service: ObjectStorageService.typeName }, { signal: stop.signal });
    for await (const { status } of changes) watched.push(status);
  })().catch(() => {});

  const becomes = (status: Status) =>
    eventually(
      async () => (await statusOf(ObjectStorageService.typeName)) === status && watched.at(-1) === status,
      `checks and watches are told ${status}`,
    );

  await becomes(Status.SERVING);
  child.kill("SIGSTOP");
  await becomes(Status.NOT_SERVING);
  child.kill("SIGCONT");
  await becomes(Status.SERVING);
  child.kill("SIGKILL");
  await becomes(Status.NOT_SERVING);
  expect(await statusOf("")).toBe(Status.SERVING);
  stop.abort();
  await watching;
});
