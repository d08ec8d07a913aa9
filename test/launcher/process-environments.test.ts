import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { processEnvironments } from "../../services/launcher/process-environments.ts";
import { processNames, serviceNames } from "../../services/launcher/processes.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const secrets = {
  QUARTET_ACCESS_KEY_ID: "QKIAROOT000000000000",
  QUARTET_SECRET_ACCESS_KEY: "the root's own secret",
  SHOP_ROOT_SECRET: "the shop's own secret",
  SHOP_ALICE_SECRET: "alice's own secret",
};

const declaring = (rootVariable: string, aliceVariable: string) => ({
  accounts: {
    "111122223333": {
      accessKeys: [{ id: "QKIASHOPROOT00000000", secret: { environment: rootVariable } }],
      users: [{ name: "alice", accessKeys: [{ id: "QKIASHOPALICE0000000", secret: { environment: aliceVariable } }] }],
    },
    "444455556666": { accessKeys: [{ id: "QKIABANKROOT00000000", secret: "a secret in the file" }] },
  },
});

test("of the five processes, only the gateway has secrets of access keys in its environment", async () => {
  const system = await startSystem(await temporaryDirectory(), "error", {
    configuration: declaring("SHOP_ROOT_SECRET", "SHOP_ALICE_SECRET"),
    env: { ...secrets, SHOP_COLOUR: "red" },
  });
  onTestFinished(() => system.stop());
  const seen = await Promise.all(
    processNames.map(async (name) => {
      const environment = await readFile(`/proc/${system.installation.pid(name)}/environ`, "utf8");
      const variables = environment.split("\0").map((pair) => pair.split("=")[0] ?? "");
      return [name, [...Object.keys(secrets), "SHOP_COLOUR"].filter((variable) => variables.includes(variable))];
    }),
  );
  expect(Object.fromEntries(seen)).toEqual({
    "customer-profile": ["SHOP_COLOUR"],
    "refactoring-workspace": ["SHOP_COLOUR"],
    "event-bus": ["SHOP_COLOUR"],
    "object-storage": ["SHOP_COLOUR"],
    gateway: [
      "QUARTET_ACCESS_KEY_ID",
      "QUARTET_SECRET_ACCESS_KEY",
      "SHOP_ROOT_SECRET",
      "SHOP_ALICE_SECRET",
      "SHOP_COLOUR",
    ],
  });
});

test("a start after a change of the file hides what it names now and what it named before", async () => {
  const path = join(await temporaryDirectory(), "quartet.json");
  const write = (content: string) => writeFile(path, content);
  await write(JSON.stringify(declaring("FIRST", "SECOND")));
  const environmentOf = processEnvironments(
    { FIRST: "1", SECOND: "2", THIRD: "3", OTHER: "4" },
    { path, isNamed: true },
  );
  expect(environmentOf("event-bus")).toEqual({ THIRD: "3", OTHER: "4" });
  await write(JSON.stringify(declaring("THIRD", "SECOND")));
  expect(environmentOf("event-bus")).toEqual({ OTHER: "4" });
  await write("{");
  expect(serviceNames.map(environmentOf)).toEqual([{ OTHER: "4" }, { OTHER: "4" }, { OTHER: "4" }, { OTHER: "4" }]);
  expect(environmentOf("gateway")).toEqual({ FIRST: "1", SECOND: "2", THIRD: "3", OTHER: "4" });
});
