import { ListEventBusesCommand } from "@aws-sdk/client-eventbridge";
import {
  AddUserToGroupCommand,
  AttachUserPolicyCommand,
  CreateGroupCommand,
  CreatePolicyCommand,
  CreateUserCommand,
  IAMClient,
  PutGroupPolicyCommand,
  PutUserPermissionsBoundaryCommand,
} from "@aws-sdk/client-iam";
import { CreateBucketCommand, ListBucketsCommand } from "@aws-sdk/client-s3";
import { execFile } from "node:child_process";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

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

  test("explains decisions on a user that was created at run time, by the policies that the gateway keeps", async () => {
    const { installation } = system;
    const iam = new IAMClient({ endpoint: installation.gatewayUrl, region: system.region, credentials: system });
    onTestFinished(() => iam.destroy());
    const bus = "arn:aws:events:us-east-1:000000000000:event-bus/default";
    const policy = (Sid: string, Resource: string) =>
      JSON.stringify({ Statement: [{ Sid, Effect: "Allow", Action: "events:PutEvents", Resource }] });
    await iam.send(new CreateUserCommand({ UserName: "erin", Path: "/team/" }));
    await iam.send(new CreateGroupCommand({ GroupName: "senders" }));
    await iam.send(new AddUserToGroupCommand({ GroupName: "senders", UserName: "erin" }));
    const { Policy } = await iam.send(
      new CreatePolicyCommand({ PolicyName: "send", PolicyDocument: policy("Other", `${bus}-other`) }),
    );
    await iam.send(new AttachUserPolicyCommand({ UserName: "erin", PolicyArn: Policy?.Arn }));
    const user = "arn:aws:iam::000000000000:user/team/erin";
    const asked = ["--principal", user, "--action", "events:PutEvents", "--resource", bus];
    const addresses = [
      ["--address", installation.urls("event-bus")["rpc"] ?? ""],
      ["--identity-address", installation.urls("gateway")["rpc"] ?? ""],
    ].flat();
    const explain = () =>
      runProgram("services/launcher/policy.ts", ["explain", "--online", "--data-dir", dataDir, ...addresses, ...asked]);
    expect(await explain()).toEqual({
      status: 1,
      output:
        "refused: nothing allows it\n" +
        "nearly matched: identity policy 0, statement 0 (Other), Allow; failed: resource\n",
      errors: "",
    });
    await iam.send(
      new PutGroupPolicyCommand({ GroupName: "senders", PolicyName: "own", PolicyDocument: policy("Group", bus) }),
    );
    expect((await explain()).output).toContain(
      "allowed: a policy of the principal allows it\ndecided by: identity policy 1, statement 0 (Group)\n",
    );
    await iam.send(new PutUserPermissionsBoundaryCommand({ UserName: "erin", PermissionsBoundary: Policy?.Arn }));
    expect((await explain()).output).toContain(
      "refused: the principal's permissions boundary does not allow it\n" +
        "nearly matched: identity policy 0, statement 0 (Other), Allow; failed: resource\n" +
        "nearly matched: boundary policy 0, statement 0 (Other), Allow; failed: resource\n",
    );
    const { errors } = await runProgram("services/launcher/policy.ts", [
      "explain",
      "--online",
      "--data-dir",
      dataDir,
      ...addresses,
      ...asked.slice(2),
      "--principal",
      "arn:aws:iam::000000000000:user/nobody",
    ]);
    expect(errors).toBe(
      "policy: There is no such principal; its name has its path, as in its ARN. Its policies can be given.\n",
    );
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
