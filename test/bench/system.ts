import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

import { CreateDomainCommand, CreateProfileCommand } from "@aws-sdk/client-customer-profiles";
import { PutEventsCommand } from "@aws-sdk/client-eventbridge";
import { ListEnvironmentsCommand } from "@aws-sdk/client-migration-hub-refactor-spaces";
import { CreateBucketCommand, PutObjectCommand } from "@aws-sdk/client-s3";

import { processNames } from "../../services/launcher/processes.ts";
import { descendants, proportionalMemory } from "../support/process-memory.ts";
import type { SdkClients } from "../support/sdk-clients.ts";
import { startSystem } from "../support/system.ts";
import type { BenchGroup, BenchRow } from "./bench.ts";
import type { Peer } from "./peers/peer.ts";
import { startPeer } from "./peers/peer.ts";

const root = join(import.meta.dirname, "../..");
const requestCount = 1_000;
const callers = 16;

/** For costs: the ratio says how much of it the baseline needs. */
const cost = (
  what: string,
  unit: string,
  value: number,
  baseline: BenchRow["baseline"],
  target?: number,
): BenchRow => ({
  what,
  value,
  unit,
  baseline,
  ratio: baseline.value / value,
  ...(target === undefined ? {} : { target }),
});

/** Milliseconds from `npm start` until it says that all are ready; `then` looks at what runs before it is stopped. */
const startMs = async (dataDir: string, then?: (npmPid: number) => Promise<void>): Promise<number> => {
  const beginMs = performance.now();
  const npm = spawn("npm", ["start", "--silent", "--", "--free-ports", "--data-dir", dataDir, "--log-level", "info"], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(npm, "exit");
  for await (const line of createInterface(npm.stdout)) {
    if (!line.includes('"all are ready"')) continue;
    const readyMs = performance.now() - beginMs;
    npm.stdout.resume();
    await then?.(npm.pid ?? 0);
    npm.kill("SIGTERM");
    await ended;
    return readyMs;
  }
  throw new Error("npm start ended before all were ready");
};

/** Milliseconds until as many processes listen that do nothing else. */
const bareStart = async (): Promise<{ ms: number; peers: Peer[]; pids: string[] }> => {
  const beginMs = performance.now();
  const peers = processNames.map(() => startPeer("bare-process", ""));
  const pids = await Promise.all(peers.map((peer) => peer.ask<string>({ ask: "start" })));
  return { ms: performance.now() - beginMs, peers, pids };
};

/** Resident megabytes of a process. */
const memory = (pid: string | number | undefined): number =>
  Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)]).toString()) / 1_024;

/** Until a process has given back what its start took, in milliseconds. */
const restMs = 12_000;

/** Proportional megabytes of processes. */
const proportional = async (pids: readonly number[]): Promise<number> => {
  const memories = await Promise.all(pids.map(proportionalMemory));
  return memories.reduce((sum, { all }) => sum + all, 0);
};

/** A quarter of the requests to each API, signed and through the gateway. */
const request = (clients: SdkClients, number: number): Promise<unknown> => {
  const entry = { Source: "shop", DetailType: "Sale", Detail: `{"number":${number}}` };
  const sends = [
    () => clients.eventBus.send(new PutEventsCommand({ Entries: [entry] })),
    () =>
      clients.objectStorage.send(new PutObjectCommand({ Bucket: "bench", Key: `${number}`, Body: "a".repeat(4096) })),
    () => clients.customerProfile.send(new CreateProfileCommand({ DomainName: "bench", AccountNumber: `${number}` })),
    () => clients.workspace.send(new ListEnvironmentsCommand({})),
  ];
  return (sends[number % sends.length] ?? (() => Promise.resolve()))();
};

const memoryRows = async (dataDir: string, bareMegabytes: number): Promise<BenchRow[]> => {
  const system = await startSystem(dataDir);
  try {
    const measure = (when: string): BenchRow[] =>
      processNames.map((name) =>
        cost(`${name}, ${when}`, "MiB", memory(system.installation.pid(name)), {
          what: "MiB of a bare node:http process",
          value: bareMegabytes,
        }),
      );
    const atStart = measure("after the start");
    await system.clients.objectStorage.send(new CreateBucketCommand({ Bucket: "bench" }));
    await system.clients.customerProfile.send(
      new CreateDomainCommand({ DomainName: "bench", DefaultExpirationDays: 30 }),
    );
    let sent = 0;
    const send = async (): Promise<void> => {
      while (sent < requestCount) await request(system.clients, sent++);
    };
    await Promise.all(Array.from({ length: callers }, send));
    return [...atStart, ...measure(`after ${requestCount.toLocaleString("en-US")} requests to all`)];
  } finally {
    await system.stop();
  }
};

/** What the whole costs: the time until it can be used, and the memory of each process. */
export const group: BenchGroup = {
  name: "system",
  run: async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "quartet-bench-"));
    const bare = await bareStart();
    const bareMegabytes = memory(bare.pids[0]);
    const bareProportional = await proportional(bare.pids.map(Number));
    for (const peer of bare.peers) peer.stop();
    let atRest = 0;
    const look = async (npmPid: number): Promise<void> => {
      await pause(restMs);
      atRest = await proportional(descendants(npmPid));
    };
    try {
      const baseline = { what: "ms until five bare processes listen", value: bare.ms };
      return [
        cost("npm start until all are ready, the first time", "ms", await startMs(dataDir), baseline, 0.12),
        cost("npm start until all are ready, again", "ms", await startMs(dataDir, look), baseline, 0.2),
        cost(
          "the launcher and its five processes at rest, proportional",
          "MiB",
          atRest,
          { what: "MiB of five bare node:http processes", value: bareProportional },
          0.4,
        ),
        ...(await memoryRows(dataDir, bareMegabytes)),
      ];
    } finally {
      await rm(dataDir, { recursive: true });
    }
  },
};
