import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { openAccounts } from "../../services/kit/accounts/accounts-file.ts";
import { openKeyNames } from "../../services/kit/keyring/keys-file.ts";
import { configSchema } from "../../services/kit/config/config-file.ts";
import { installation } from "../../services/launcher/settings.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const services = join(import.meta.dirname, "..", "..", "services");

test("services/launcher/quartet.schema.json is what the declarations say; npm run schema writes it", () => {
  expect(JSON.parse(readFileSync(join(services, "launcher/quartet.schema.json"), "utf8"))).toEqual(
    configSchema(installation, "Quartet's configuration file"),
  );
});

test("the file that services/CONFIGURATION.md shows is a good one", async () => {
  const directory = await temporaryDirectory();
  const [, shown = ""] = /```json\n(.*?)```/s.exec(readFileSync(join(services, "CONFIGURATION.md"), "utf8")) ?? [];
  await writeFile(join(directory, "quartet.json"), shown);
  await mkdir(join(directory, "secrets"));
  await writeFile(join(directory, "secrets/alice"), "alice's own secret\n");
  await mkdir(join(directory, "policies"));
  await writeFile(
    join(directory, "policies/teller.json"),
    '{"Statement":{"Effect":"Deny","Action":"*","Resource":"*"}}',
  );
  const file = { path: join(directory, "quartet.json"), isNamed: true };
  const accounts = openAccounts({
    installation,
    file,
    clock: new FakeClock(),
    environment: { SHOP_ROOT_SECRET: "the shop's own secret" },
  });
  expect(accounts.accessKeyIds().map((id) => accounts.findAccessKey(id)?.secretAccessKey)).toEqual([
    "the shop's own secret",
    "alice's own secret",
    "a secret of at least 8 characters",
  ]);
  expect(accounts.findRole("arn:aws:iam::444455556666:role/teller")?.policies).toHaveLength(1);
  expect(accounts.findOrganizationId("444455556666")).toBe("o-exampleorg00");
  const keyNames = openKeyNames({ installation, file, clock: new FakeClock() });
  expect(keyNames.usableId("arn:svc:kms:us-east-1:111122223333:alias/crm")).toBe(
    "5b3c0a9e-1f57-4c58-9d0a-2f6f1c8f7a11",
  );
  expect(() => keyNames.usableId("shop-secrets")).toThrow("Key shop-secrets is disabled.");
});

describe("a start is refused with status 2 and one line", () => {
  const misspelled = { accounts: { "111122223333": { users: [{ name: "alice", colour: "red" }] } } };
  const refusal =
    'quartet.json: accounts["111122223333"].users[0].colour is not known; known are name, policies, accessKeys, tags';
  const unreadable = { accounts: { "111122223333": { users: [{ name: "alice", policies: ["none.json"] }] } } };
  const noFile = 'quartet.json: accounts["111122223333"].users[0].policies[0]: there is no file none.json';
  const noSecret = { accounts: { "111122223333": { accessKeys: [{ id: "K", secret: { environment: "NO_SUCH" } }] } } };
  const noVariable = 'quartet.json: accounts["111122223333"].accessKeys[0].secret: the environment has no NO_SUCH';

  const unknownState = { keys: [{ id: "crm", state: "OFF" }] };
  const noState = "quartet.json: keys[0].state must be one of ENABLED, DISABLED, PENDING_DELETION";

  // script, quartet.json, what is written
  test.each([
    ["services/launch.ts", misspelled, `quartet: ${refusal}`],
    ["services/launch.ts", noSecret, `quartet: ${noVariable}`],
    ["services/event-bus/main.ts", misspelled, `event-bus: ${refusal}`],
    ["services/event-bus/main.ts", unreadable, `event-bus: ${noFile}`],
    ["services/launch.ts", unknownState, `quartet: ${noState}`],
    ["services/customer-profile/main.ts", unknownState, `customer-profile: ${noState}`],
    ["gateway/main.ts", noSecret, `gateway: ${noVariable}`],
  ])("%s with %j", async (script, configuration, written) => {
    const directory = await temporaryDirectory();
    const config = join(directory, "quartet.json");
    await writeFile(config, JSON.stringify(configuration));
    const child = spawn(process.execPath, [script, "--config", config, "--data-dir", directory], {
      cwd: join(services, ".."),
      stdio: ["ignore", "ignore", "pipe"],
    });
    let output = "";
    child.stderr.on("data", (part: Buffer) => (output += part.toString()));
    const [status] = (await once(child, "close")) as [number];
    expect([output.trim(), status]).toEqual([written, 2]);
  });

  test("an access key that is in the credentials file too", async () => {
    const directory = await temporaryDirectory();
    const config = join(directory, "quartet.json");
    const secret = "a secret of nobody";
    await mkdir(join(directory, "gateway"));
    const credentials = { version: 1, accessKeys: [{ accessKeyId: "QKIABOTH", secretAccessKey: secret }] };
    await writeFile(join(directory, "gateway/credentials.json"), JSON.stringify(credentials));
    const declared = { accounts: { "111122223333": { accessKeys: [{ id: "QKIABOTH", secret }] } } };
    await writeFile(config, JSON.stringify(declared));
    const argv = ["services/launch.ts", "--free-ports", "--config", config, "--data-dir", directory];
    const child = spawn(process.execPath, argv, { cwd: join(services, ".."), stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stderr.on("data", (part: Buffer) => (output += part.toString()));
    const [status] = (await once(child, "close")) as [number];
    expect([output.trim(), status]).toEqual([
      "quartet: access key QKIABOTH is in the credentials file and in accounts",
      2,
    ]);
  });
});
