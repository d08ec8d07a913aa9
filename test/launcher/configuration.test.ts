import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { openAccounts } from "../../services/kit/accounts/accounts-file.ts";
import { configSchema } from "../../services/kit/config/config-schema.ts";
import { installation } from "../../services/settings.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const services = join(import.meta.dirname, "..", "..", "services");

test("services/quartet.schema.json is what the declarations say; npm run schema writes it", () => {
  expect(JSON.parse(readFileSync(join(services, "quartet.schema.json"), "utf8"))).toEqual(
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
  await writeFile(join(directory, "policies/teller.json"), '{"Statement":{"Effect":"Deny","Action":"*","Resource":"*"}}');
  const accounts = openAccounts({
    installation,
    file: { path: join(directory, "quartet.json"), isNamed: true },
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
});
