/**
 * Secrets stay inside: a system that logs everything is given a secret of its own in each place that takes one, in
 * calls that succeed and in calls that fail. Afterwards none of them stands in what its processes wrote, in a refusal,
 * or in the metrics.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { testKey } from "../gateway/support/signing-client.ts";
import type { HttpReceiver } from "../support/http-receiver.ts";
import { startHttpReceiver } from "../support/http-receiver.ts";
import type { LoggedSystem } from "../support/logged-system.ts";
import { startLoggedSystem } from "../support/logged-system.ts";
import { giveIdentities } from "./identity-secrets.ts";
import { giveCustomerProfile, giveEventBus, giveServices, giveWorkspace } from "./json-secrets.ts";
import { giveObjectStorage } from "./object-storage-secrets.ts";
import { plantedSecrets } from "./planted-secrets.ts";
import { SecretCalls } from "./secret-calls.ts";

const secrets = plantedSecrets();
const secretAccessKey = secrets.plant("the secret access key");
let dataDir: string;
let system: LoggedSystem;
let endpoint: HttpReceiver;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "quartet-secrets-"));
  endpoint = await startHttpReceiver();
  system = await startLoggedSystem(dataDir, "trace", {
    env: {
      QUARTET_ACCESS_KEY_ID: testKey.accessKeyId,
      QUARTET_SECRET_ACCESS_KEY: secretAccessKey,
    },
  });
}, 90_000);

afterAll(async () => {
  await system?.stop();
  await endpoint?.close();
  await rm(dataDir, { recursive: true, force: true });
});

const services = ["customer-profile", "refactoring-workspace", "event-bus", "object-storage"];

const metricsOf = async (base: string | undefined): Promise<string> => {
  const answer = await fetch(`${base}/metrics`);
  expect(answer.status).toBe(200);
  return answer.text();
};

/** The lines of a service's record of decisions. */
const auditLinesOf = async (service: string): Promise<string[]> => {
  const directory = join(dataDir, service, "audit");
  const files = await Promise.all((await readdir(directory)).map((name) => readFile(join(directory, name), "utf8")));
  return files.flatMap((text) => text.trimEnd().split("\n"));
};

test("no secret stands in a refusal, in the metrics or in what the processes wrote", { timeout: 60_000 }, async () => {
  const calls = new SecretCalls(system, dataDir, endpoint, secrets, secretAccessKey);
  await giveEventBus(calls);
  await giveCustomerProfile(calls);
  await giveWorkspace(calls);
  await giveObjectStorage(calls);
  await giveIdentities(calls);
  await giveServices(calls);

  const pages = await Promise.all([
    metricsOf(system.urls("gateway")["admin"]),
    ...services.map((name) => metricsOf(system.urls(name)["rpc"])),
  ]);
  expect(pages.flatMap((page) => secrets.leaksOf(page))).toEqual([]);

  const telling = [...calls.refusals].filter(([, body]) => secrets.leaksOf(body).length > 0);
  expect(telling).toEqual([]);

  // Failed deliveries have been tried, and the processes write what they write at their end.
  await system.stop();
  const lines = system.output().split("\n");
  expect(lines.filter((line) => line.includes('"msg":"received"')).length).toBeGreaterThan(30);
  expect(lines.filter((line) => secrets.leaksOf(line).length > 0)).toEqual([]);

  const recorded = await Promise.all([...services, "gateway"].map(auditLinesOf));
  for (const audit of recorded) expect(audit.length).toBeGreaterThan(0);
  expect(recorded.flat().filter((line) => secrets.leaksOf(line).length > 0)).toEqual([]);
});
