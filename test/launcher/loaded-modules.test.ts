import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { ListDomainsCommand } from "@aws-sdk/client-customer-profiles";
import { ListEventBusesCommand } from "@aws-sdk/client-eventbridge";
import { ListBucketsCommand } from "@aws-sdk/client-s3";
import { expect, onTestFinished, test } from "vitest";

import { RefactoringWorkspaceService } from "../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import { processNames } from "../../services/launcher/processes.ts";
import { eventually } from "../support/eventually.ts";
import { openRpcClient } from "../support/rpc-client.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

test("no process of an installation loads the HTTP client inside Node, which costs its start and its memory", async () => {
  const dataDir = await temporaryDirectory();
  const preload = join(import.meta.dirname, "noted-modules.cjs");
  const { installation, clients, stop } = await startSystem(dataDir, "error", {
    env: { NODE_OPTIONS: `--require=${preload}` },
  });
  onTestFinished(stop);
  await clients.objectStorage.send(new ListBucketsCommand());
  await clients.customerProfile.send(new ListDomainsCommand({}));
  await clients.eventBus.send(new ListEventBusesCommand({}));
  const workspace = await openRpcClient({
    service: RefactoringWorkspaceService,
    address: installation.urls("refactoring-workspace")["rpc"] ?? "",
    audience: "refactoring-workspace",
    dataDir,
  });
  await workspace.client.listEnvironments({});
  await workspace.close();
  const loading: string[] = [];
  for (const name of processNames) {
    process.kill(installation.pid(name) ?? 0, "SIGUSR2");
    // Of a process that runs from its bundle: `npm run bundle` after a change of the sources.
    const path = join(dataDir, `modules-${name}`);
    await eventually(() => existsSync(path), `${name} has noted its modules`);
    const modules = JSON.parse(await readFile(path, "utf8")) as string[];
    expect(modules).toContain("NativeModule http");
    if (modules.includes("NativeModule internal/deps/undici/undici")) loading.push(name);
  }
  expect(loading).toEqual([]);
});
