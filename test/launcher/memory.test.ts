/*
 * Goal: an installation needs little memory at rest, a bounded amount under load however long it lasts, and gives back
 * what a load took. Method: the launcher and its processes as `npm start` runs them; stock clients keep requests of all
 * kinds in flight to all four services; the memory is that of all processes, proportional (what several share counts in
 * parts). 12 s of load, an hour under `npm run soak`.
 */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import {
  CreateDomainCommand,
  CreateProfileCommand,
  SearchProfilesCommand,
  UpdateProfileCommand,
} from "@aws-sdk/client-customer-profiles";
import { PutEventsCommand } from "@aws-sdk/client-eventbridge";
import {
  CreateEnvironmentCommand,
  ListEnvironmentsCommand,
  TagResourceCommand,
} from "@aws-sdk/client-migration-hub-refactor-spaces";
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { expect, onTestFinished, test } from "vitest";

import { systemClock } from "../../services/kit/clock/clock.ts";
import { openAccessKeyFile } from "../../services/kit/identity/access-key-file.ts";
import { randomIds } from "../../services/kit/ids/ids.ts";
import { credentialsFile } from "../../services/launcher/settings.ts";
import { eventually } from "../support/eventually.ts";
import { startLoggedSystem } from "../support/logged-system.ts";
import type { ProportionalMemory } from "../support/process-memory.ts";
import { descendants, proportionalMemory } from "../support/process-memory.ts";
import { rounds } from "../support/rounds.ts";
import type { SdkClients } from "../support/sdk-clients.ts";
import { destroyClients, sdkClients } from "../support/sdk-clients.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { deliverTo } from "./deliver-to.ts";

const loadMs = rounds(12_000, 3_600_000);
const sampleMs = rounds(1_000, 10_000);
const callers = 16;
const large = Buffer.alloc(8 * 1024 * 1024, "large;");
const small = Buffer.alloc(4 * 1024, "small;");

/** The most that all processes may have, in MiB. */
const most = { atRest: 300, underLoad: rounds(800, 1_000), afterwards: rounds(800, 450) };

/** What runs, by its script, with the memory of each. */
type Census = ReadonlyMap<string, ProportionalMemory>;

const census = async (launcherPid: number): Promise<Census> => {
  const rows = [launcherPid, ...descendants(launcherPid)].map(async (pid) => {
    const words = (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0");
    return [
      `${words.at(words.findIndex((word) => word.endsWith("run.cjs")) + 1)}`,
      await proportionalMemory(pid),
    ] as const;
  });
  return new Map(await Promise.all(rows));
};

const sumOf = (processes: Census, kind: keyof ProportionalMemory): number =>
  processes.values().reduce((sum, memory) => sum + memory[kind], 0);

const cells = ({ all, anonymous }: ProportionalMemory): string => `${all.toFixed(0)} (${anonymous.toFixed(0)})`;

/** MiB of all and of each, with those that are no pages of files. */
const told = (processes: Census): string => {
  const sum = { all: sumOf(processes, "all"), anonymous: sumOf(processes, "anonymous") };
  return [`${cells(sum)} MiB`, ...processes.entries().map(([name, memory]) => `${name} ${cells(memory)}`)].join(", ");
};

/** Makes one request of the mix, by its number. */
type Mix = (number: number) => Promise<unknown>;

const prepareObjects = async ({ objectStorage }: SdkClients): Promise<Mix> => {
  const Bucket = "mixed";
  await objectStorage.send(new CreateBucketCommand({ Bucket }));
  const get = async (Key: string): Promise<void> => {
    const { Body } = await objectStorage.send(new GetObjectCommand({ Bucket, Key }));
    await Body?.transformToByteArray();
  };
  await objectStorage.send(new PutObjectCommand({ Bucket, Key: "large/0", Body: large }));
  await objectStorage.send(new PutObjectCommand({ Bucket, Key: "small/0", Body: small }));
  const keyOf = (number: number): string => `small/${number % 10_000}`;
  return (number) => {
    const Key = keyOf(number);
    if (number % 100 === 0) return objectStorage.send(new PutObjectCommand({ Bucket, Key: "large/0", Body: large }));
    if (number % 100 === 1) return get("large/0");
    if (number % 10 === 2) return objectStorage.send(new ListObjectsV2Command({ Bucket, MaxKeys: 200 }));
    if (number % 10 === 3) return objectStorage.send(new DeleteObjectCommand({ Bucket, Key: keyOf(number + 5_001) }));
    if (number % 2 === 0) return objectStorage.send(new PutObjectCommand({ Bucket, Key, Body: small }));
    return get("small/0");
  };
};

const prepareProfiles = async ({ customerProfile }: SdkClients): Promise<Mix> => {
  const DomainName = "mixed";
  await customerProfile.send(new CreateDomainCommand({ DomainName, DefaultExpirationDays: 30 }));
  const { ProfileId } = await customerProfile.send(new CreateProfileCommand({ DomainName, FirstName: "Ada" }));
  return (number) => {
    const phone = `+1555${`${number % 20_000}`.padStart(7, "0")}`;
    if (number % 3 === 0)
      return customerProfile.send(new CreateProfileCommand({ DomainName, FirstName: "Ada", PhoneNumber: phone }));
    if (number % 3 === 1)
      return customerProfile.send(new SearchProfilesCommand({ DomainName, KeyName: "_phone", Values: [phone] }));
    return customerProfile.send(new UpdateProfileCommand({ DomainName, ProfileId, LastName: `${number}` }));
  };
};

const prepareEvents = ({ eventBus }: SdkClients): Mix => {
  const item = "b".repeat(500);
  return (number) => {
    const entry = { Source: "mixed", DetailType: "Mix", Detail: JSON.stringify({ number, item }) };
    return eventBus.send(new PutEventsCommand({ Entries: [entry] }));
  };
};

const prepareWorkspace = async ({ workspace }: SdkClients): Promise<Mix> => {
  const create = new CreateEnvironmentCommand({ Name: "mixed", NetworkFabricType: "TRANSIT_GATEWAY" });
  const { Arn } = await workspace.send(create);
  return (number) =>
    number % 2 === 0
      ? workspace.send(new ListEnvironmentsCommand({}))
      : workspace.send(new TagResourceCommand({ ResourceArn: Arn, Tags: { mixed: `${number}` } }));
};

/** An endpoint that keeps nothing of what it is sent. */
const startEndpoint = async (): Promise<string> => {
  const server = createServer((request, response) => {
    request.resume().once("end", () => response.end());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`;
};

const settlingMsMax = 180_000;

/** Waits until the whole has so little memory, for three minutes at most; resolves with what it has then. */
const settled = (launcherPid: number, mebibytesMax: number): Promise<Census> => {
  const endMs = performance.now() + settlingMsMax;
  return eventually(
    async () => {
      const processes = await census(launcherPid);
      return sumOf(processes, "all") < mebibytesMax || performance.now() > endMs ? processes : undefined;
    },
    "all processes can be looked at",
    2 * settlingMsMax,
  );
};

/** Keeps requests in flight, in turns of all mixes, until the time is over; resolves with how many were answered. */
const load = async (mixes: readonly Mix[]): Promise<number> => {
  const endMs = performance.now() + loadMs;
  let sent = 0;
  const call = async (): Promise<void> => {
    for (let number = sent++; performance.now() < endMs; number = sent++)
      await mixes[number % mixes.length]?.(Math.floor(number / mixes.length));
  };
  await Promise.all(Array.from({ length: callers }, call));
  return sent;
};

test(
  "a mixed load leaves the memory of all processes bounded, and they give it back",
  async () => {
    const dataDir = await temporaryDirectory();
    const command = [
      process.execPath,
      "--max-semi-space-size=2",
      join(import.meta.dirname, "../../services/run.cjs"),
      "launch",
    ];
    const system = await startLoggedSystem(dataDir, "info", { command, isQuiet: true });
    onTestFinished(() => system.stop());
    const atRest = await settled(system.pid, most.atRest);

    const keys = await openAccessKeyFile({ path: credentialsFile(dataDir), clock: systemClock, ids: randomIds });
    const credentials = keys.find(keys.firstAccessKeyId ?? "")!;
    // On a machine with more to do, a service that was late for its probes is answered for with 503 for some seconds.
    const clients = sdkClients({ endpoint: system.gatewayUrl, credentials, maxAttempts: 10 });
    onTestFinished(() => destroyClients(clients));
    await deliverTo(clients, "mixed", await startEndpoint(), { endpoint: system.gatewayUrl, credentials });
    const mixes = [
      await prepareObjects(clients),
      prepareEvents(clients),
      await prepareProfiles(clients),
      await prepareWorkspace(clients),
    ];

    let isLoaded = true;
    const loading = load(mixes).finally(() => (isLoaded = false));
    const samples: Census[] = [];
    while (isLoaded) {
      await Promise.race([pause(sampleMs), loading]);
      samples.push(await census(system.pid));
    }
    const answered = await loading;
    const endMs = performance.now();
    const afterwards = await settled(system.pid, most.afterwards);
    const settledSeconds = (performance.now() - endMs) / 1_000;

    const peak = samples.toSorted((a, b) => sumOf(b, "all") - sumOf(a, "all"))[0]!;
    const figures = { "at rest": atRest, "at most": peak, "at the end": samples.at(-1)!, afterwards };
    for (const [when, processes] of Object.entries(figures)) console.info(`${when}: ${told(processes)}`);
    console.info(`${answered} requests in ${loadMs / 1_000} s, given back after ${settledSeconds.toFixed(0)} s`);
    expect(sumOf(atRest, "all")).toBeLessThan(most.atRest);
    expect(sumOf(peak, "all")).toBeLessThan(most.underLoad);
    expect(sumOf(afterwards, "all")).toBeLessThan(most.afterwards);
  },
  loadMs + 600_000,
);
