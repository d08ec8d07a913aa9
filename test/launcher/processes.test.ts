import { readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { apiServices } from "../../gateway/services.ts";
import { serviceApi } from "../../services/kit/contract/contract.ts";
import {
  addressSetting,
  processes,
  processNames,
  serviceNames,
  startOrder,
} from "../../services/launcher/processes.ts";
import { installation } from "../../services/launcher/settings.ts";
import { isBucketName } from "../../services/object-storage/domain/bucket-name.ts";

const root = join(import.meta.dirname, "..", "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** The line of services/README.md about a process. */
const documentedLine = (name: string): string =>
  read("services/README.md")
    .split("\n")
    .find((line) => line.includes(`[${name}](`)) ?? "";

test("a process starts after all that it calls", () => {
  expect(startOrder()).toEqual([
    ["customer-profile", "refactoring-workspace", "event-bus"],
    ["object-storage"],
    ["gateway"],
  ]);
});

test("each default port is used once", () => {
  const ports = processNames.flatMap((name) => Object.values(processes[name].listeners).map(({ port }) => port));
  expect(ports).toEqual([50_051, 50_052, 8_081, 50_053, 50_054, 8_080, 8_082, 8_089, 50_055]);
});

describe.each(processNames)("%s", (name) => {
  const { listeners, calls, callsLater, nodeFlags } = processes[name];
  const settings: object = installation.processes[name];

  test("has a setting for each listener and for each service that it calls", () => {
    const expected = [
      ...Object.values(listeners).map(({ setting }) => setting),
      ...[...calls, ...callsLater].map(addressSetting),
    ];
    expect(Object.keys(settings)).toEqual(expect.arrayContaining(expected));
  });

  test("is started alone by its npm script", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const command = ["exec node", ...nodeFlags, "services/run.cjs", name].join(" ");
    expect(scripts[`start:${name}`]).toBe(command);
  });

  test("has its flags of Node in a container of its own as well", () => {
    const command = ["node", ...nodeFlags, "services/run.cjs", name].join(", ");
    expect(read("deploy/compose.apart.yaml")).toContain(`command: [${command}]`);
  });

  test("is documented with its ports", () => {
    const line = documentedLine(name);
    expect(Object.values(listeners).filter(({ port }) => !line.includes(`127.0.0.1:${port}`))).toEqual([]);
  });
});

describe.each(serviceNames)("%s", (name) => {
  test("is documented with the services that it calls", () => {
    const { calls, callsLater } = processes[name];
    expect([...calls, ...callsLater].filter((callee) => !documentedLine(name).includes(callee))).toEqual([]);
  });

  test("is the name of the service's API in the contract", () => {
    expect(serviceApi(apiServices[name].service).name).toBe(name);
  });

  test("cannot name a bucket, which the gateway could not reach", () => {
    expect(isBucketName(name)).toBe(false);
  });
});
