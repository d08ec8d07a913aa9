import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { expect, onTestFinished, test } from "vitest";

import { privateTargetsArguments } from "../../services/launcher/private-targets.ts";
import { processNames } from "../../services/launcher/processes.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const allow = ["--private-targets=allow"];
const refuse = ["--private-targets=refuse"];

// variables, quartet.json, flag of the event bus, flag of the workspace, flag of the gateway
test.each([
  [{}, {}, allow, allow, allow],
  [{}, { gateway: { listen: "127.0.0.2:8080", adminListen: "[::1]:8089" } }, allow, allow, allow],
  [{}, { gateway: { listen: "0.0.0.0:8080" } }, refuse, refuse, refuse],
  [{ QUARTET_GATEWAY_LISTEN: "[::]:8080" }, {}, refuse, refuse, refuse],
  [{ QUARTET_GATEWAY_LISTEN: "localhost:8080" }, { gateway: { listen: "0.0.0.0:8080" } }, allow, allow, allow],
  [{}, { gateway: { adminListen: "192.168.1.4:8089" } }, refuse, refuse, refuse],
  [{}, { refactoringWorkspace: { proxyListen: "0.0.0.0:8081" } }, refuse, refuse, refuse],
  [{}, { objectStorage: { listen: "10.0.0.4:50054" } }, refuse, refuse, refuse],
  [{}, { gateway: { hosts: ["localhost", "s3.localhost"] } }, allow, allow, allow],
  [{}, { gateway: { hosts: ["localhost", "s3.example.com"] } }, refuse, refuse, refuse],
  [{}, { refactoringWorkspace: { proxyUrl: "http://localhost:8081" } }, allow, allow, allow],
  [{}, { refactoringWorkspace: { proxyUrl: "https://shop.example.com" } }, refuse, refuse, refuse],
  [{}, { trustedProxies: ["127.0.0.1"] }, refuse, refuse, refuse],
  [{ QUARTET_EVENT_BUS_PRIVATE_TARGETS: "refuse" }, {}, [], allow, allow],
  [{}, { gateway: { listen: "0.0.0.0:8080" }, refactoringWorkspace: { privateTargets: "allow" } }, refuse, [], refuse],
])("with variables %j and file %j", async (env, file, eventBus, workspace, gateway) => {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, "quartet.json"), JSON.stringify(file));
  const sources = { argv: [], env, directory };
  expect(Object.fromEntries(processNames.map((name) => [name, privateTargetsArguments(name, sources)]))).toEqual({
    "customer-profile": [],
    "refactoring-workspace": workspace,
    "event-bus": eventBus,
    "object-storage": [],
    gateway,
  });
});

test.each(["event-bus", "refactoring-workspace"])("%s refuses them when it is started by itself", async (name) => {
  const script = join(import.meta.dirname, "..", "..", "services", name, "main.ts");
  const cwd = await temporaryDirectory();
  const { stdout } = await promisify(execFile)(process.execPath, [script, "--print-config"], { cwd });
  expect(stdout).toContain("\nprivateTargets = refuse\n");
});

test("a launcher whose gateway is public starts both services so that they refuse", async () => {
  const { installation, stop } = await startSystem(await temporaryDirectory(), "error", {
    env: { QUARTET_GATEWAY_LISTEN: "0.0.0.0:0" },
  });
  onTestFinished(stop);
  expect(installation.gatewayUrl).toMatch(/^http:\/\/0\.0\.0\.0:/);
  const flagOf = async (name: "event-bus" | "refactoring-workspace") =>
    (await readFile(`/proc/${installation.pid(name)}/cmdline`, "utf8"))
      .split("\0")
      .filter((argument) => argument.includes("private-targets"));
  expect([await flagOf("event-bus"), await flagOf("refactoring-workspace")]).toEqual([refuse, refuse]);
});
