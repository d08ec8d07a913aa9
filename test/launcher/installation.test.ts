import { ListEventBusesCommand } from "@aws-sdk/client-eventbridge";
import { CreateBucketCommand, ListBucketsCommand } from "@aws-sdk/client-s3";
import { execFile } from "node:child_process";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import { runProgram } from "../support/run-program.ts";
import type { System } from "../support/system.ts";
import { startSystem } from "../support/system.ts";

let dataDir: string;
let system: System;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "quartet-launcher-"));
  system = await startSystem(dataDir, "silent");
});

afterAll(async () => {
  await system.stop();
  await rm(dataDir, { recursive: true, force: true });
});

describe("a running installation", () => {
  test("serves each process's health", async () => {
    const bases = [
      system.installation.urls("gateway")["admin"],
      system.installation.urls("customer-profile")["rpc"],
      system.installation.urls("refactoring-workspace")["rpc"],
      system.installation.urls("event-bus")["rpc"],
      system.installation.urls("object-storage")["rpc"],
    ];
    const answers = await Promise.all(bases.map((base) => fetch(`${base}/healthz`)));
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200, 200]);
  });

  test("shows the metrics of all processes on one page", async () => {
    const answer = await fetch(`${system.installation.urls("gateway")["admin"]}/metrics/all`);
    const lines = (await answer.text()).split("\n");
    expect(lines.filter((line) => line.startsWith("quartet_process_up"))).toEqual([
      'quartet_process_up{process="gateway"} 1',
      'quartet_process_up{process="customer-profile"} 1',
      'quartet_process_up{process="refactoring-workspace"} 1',
      'quartet_process_up{process="event-bus"} 1',
      'quartet_process_up{process="object-storage"} 1',
    ]);
    const versions = lines.filter((line) => line.startsWith("quartet_build_info{"));
    expect(versions.map((line) => line.replace(/node=".*/, ""))).toEqual([
      'quartet_build_info{process="gateway",version="0.1.0",',
      'quartet_build_info{process="customer-profile",version="0.1.0",',
      'quartet_build_info{process="refactoring-workspace",version="0.1.0",',
      'quartet_build_info{process="event-bus",version="0.1.0",',
      'quartet_build_info{process="object-storage",version="0.1.0",',
    ]);
  });

  test.each([
    ["customer-profile", "quartet.customerprofile.v1.CustomerProfileService/ListDomains", {}],
    ["refactoring-workspace", "quartet.refactoringworkspace.v1.RefactoringWorkspaceService/ListEnvironments", {}],
    ["event-bus", "quartet.eventbus.v1.EventBusService/DescribeEventBus", { name: "default" }],
    ["object-storage", "quartet.objectstorage.v1.ObjectStorageService/ListBuckets", {}],
  ] as const)("lets buf curl call %s by reflection, with a printed token", async (name, method, expected) => {
    const run = promisify(execFile);
    const root = join(import.meta.dirname, "..", "..");
    const printed = await run(process.execPath, ["services/launcher/token.ts", "--data-dir", dataDir], { cwd: root });
    const url = `${system.installation.urls(name)["rpc"]}/${method}`;
    const authorization = `authorization: Bearer ${printed.stdout.trim()}`;
    const call = ["curl", "--protocol", "grpc", "--http2-prior-knowledge", "-H", authorization, "-d", "{}", url];
    const { stdout } = await run(join(root, "node_modules", ".bin", "buf"), call, { cwd: dataDir });
    expect(JSON.parse(stdout)).toMatchObject(expected);
  });

  test("explains decisions of a running service by the policy that it keeps", async () => {
    const address = system.installation.urls("event-bus")["rpc"] ?? "";
    const bus = "arn:aws:events:us-east-1:000000000000:event-bus/default";
    const asked = ["--principal", "arn:aws:iam::000000000000:root", "--action", "events:PutEvents", "--resource", bus];
    const flags = ["explain", "--online", "--address", address, "--data-dir", dataDir, ...asked];
    expect(await runProgram("services/launcher/policy.ts", flags)).toEqual({
      status: 0,
      output: "allowed: the root of the account needs no policy\n",
      errors: "",
    });
  });

  test("lets its processes meet on unix sockets that only its user may reach", async () => {
    const path = join(dataDir, "sockets", "object-storage.sock");
    expect(system.installation.urls("object-storage")["socket"]).toBe(`unix:${path}`);
    expect((await stat(path)).isSocket()).toBe(true);
    expect((await stat(join(dataDir, "sockets"))).mode & 0o777).toBe(0o700);
  });

  test("starts a killed service again at the same address while the others answer", async () => {
    const { installation, clients } = system;
    await clients.objectStorage.send(new CreateBucketCommand({ Bucket: "kept" }));
    const before = installation.urls("event-bus")["rpc"];
    const pid = installation.pid("event-bus") ?? 0;
    process.kill(pid, "SIGKILL");

    await eventually(() => installation.pid("event-bus") !== pid, "the killed process is gone");
    const buckets = await clients.objectStorage.send(new ListBucketsCommand({}));
    expect(buckets.Buckets?.map((bucket) => bucket.Name)).toEqual(["kept"]);

    const answered = await eventually(
      () => clients.eventBus.send(new ListEventBusesCommand({})),
      "the event bus answers again",
    );
    expect(answered.EventBuses?.map((bus) => bus.Name)).toEqual(["default"]);
    expect(installation.urls("event-bus")["rpc"]).toBe(before);
    expect(installation.pid("event-bus")).not.toBe(pid);
  });

  test("keeps what was acknowledged when the gateway is killed", async () => {
    const { installation, clients } = system;
    process.kill(installation.pid("gateway") ?? 0, "SIGKILL");
    const buckets = await eventually(
      () => clients.objectStorage.send(new ListBucketsCommand({})),
      "the gateway answers again",
    );
    expect(buckets.Buckets?.map((bucket) => bucket.Name)).toEqual(["kept"]);
  });
});
