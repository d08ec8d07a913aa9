import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { CreateBucketCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";

import type { ProcessName } from "../../services/launcher/processes.ts";
import type { BenchGroup, BenchRow } from "./bench.ts";
import type { InstallationPeer } from "./peers/installation.ts";
import { bucket, largeBytes } from "./peers/object-sizes.ts";
import type { Peer } from "./peers/peer.ts";
import { startPeer } from "./peers/peer.ts";
import type { RequestKind, RequestRole } from "./peers/request-clients.ts";

const rounds = 2;
const roundMs = 600;
const bareRoundMs = 250;
const listedCount = 1_000;

/** CPU microseconds of one request. */
interface Cost {
  readonly gateway: number;
  /** Of the gateway and the service together. */
  readonly both: number;
}

/** One round: the costs, and what a bare server needed for an answer just before. */
interface Round extends Cost {
  readonly bare: number;
}

/** What is measured, with the least ratios that are wanted: of all processes, and of the gateway alone. */
interface Measure {
  readonly what: string;
  readonly kind: RequestKind;
  readonly clients: number;
  readonly target: number;
  readonly gatewayTarget: number;
  /** The cost is divided by so many. Unset: 1. */
  readonly parts?: number;
}

const small = [1, 16, 64].flatMap((clients): Measure[] => [
  { what: "PUT 4 KiB", kind: "put", clients, target: 0.04, gatewayTarget: 0.18 },
  { what: "GET 4 KiB", kind: "get", clients, target: 0.07, gatewayTarget: 0.18 },
  { what: "HEAD", kind: "head", clients, target: 0.1, gatewayTarget: 0.18 },
]);

const megabytes = largeBytes / 1_048_576;

const measures: readonly Measure[] = [
  ...small,
  { what: "PutEvents, 10 a call", kind: "events", clients: 16, target: 0.03, gatewayTarget: 0.1 },
  { what: "page of 1,000 keys, each", kind: "list", clients: 4, target: 2.5, gatewayTarget: 5, parts: listedCount },
  { what: "PUT 64 MiB, each MiB", kind: "put-large", clients: 2, target: 0.005, gatewayTarget: 0.01, parts: megabytes },
  { what: "GET 64 MiB, each MiB", kind: "get-large", clients: 2, target: 0.01, gatewayTarget: 0.02, parts: megabytes },
];

/** Microseconds of CPU that a process has used, all its threads together, in steps of 10 ms. */
const cpuOf = (pid: number | undefined): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
};

export const costOf = async (
  installation: InstallationPeer,
  measure: Pick<Measure, "kind">,
  client: Peer,
): Promise<Cost> => {
  const service: ProcessName = measure.kind === "events" ? "event-bus" : "object-storage";
  const pids = [installation.pids.gateway, installation.pids[service]];
  const before = pids.map(cpuOf);
  const calls = await client.ask<number>({ ask: "run", address: installation.gatewayUrl, ms: roundMs });
  const [gateway = 0, rest = 0] = pids.map((pid, index) => (cpuOf(pid) - (before[index] ?? 0)) / calls);
  return { gateway, both: gateway + rest };
};

/** Microseconds of CPU of a `node:http` server that answers 4 KiB to the same requests. */
const bareCost = async (bare: Peer, address: string, client: Peer): Promise<number> => {
  const before = await bare.ask<number>({ ask: "cpu" });
  const calls = await client.ask<number>({ ask: "run", address, ms: bareRoundMs });
  return ((await bare.ask<number>({ ask: "cpu" })) - before) / calls;
};

/** The best of the rounds after the first, which warms up: what disturbs a round only makes it worse. */
const best = async (measure: () => Promise<Round>): Promise<Round> => {
  await measure();
  const results: Round[] = [];
  for (let round = 0; round < rounds; round += 1) results.push(await measure());
  return results.reduce((least, next) => (next.both / next.bare < least.both / least.bare ? next : least));
};

const prepare = async ({ gatewayUrl, accessKeyId, secretAccessKey }: InstallationPeer): Promise<void> => {
  const credentials = { accessKeyId, secretAccessKey };
  const objectStorage = new S3Client({ endpoint: gatewayUrl, region: "us-east-1", credentials, forcePathStyle: true });
  await objectStorage.send(new CreateBucketCommand({ Bucket: bucket }));
  await objectStorage.send(new CreateBucketCommand({ Bucket: "listed" }));
  let put = 0;
  const putAll = async (): Promise<void> => {
    while (put < listedCount)
      await objectStorage.send(new PutObjectCommand({ Bucket: "listed", Key: `key-${put++}`, Body: "a" }));
  };
  await Promise.all(Array.from({ length: 16 }, putAll));
  objectStorage.destroy();
};

/** Starts an installation at its default log level; the access log is dropped. */
export const startInstallation = async (): Promise<{ installation: InstallationPeer; stop: () => Promise<void> }> => {
  const child = fork(join(import.meta.dirname, "peers/installation.ts"), {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const [installation] = (await once(child, "message")) as [InstallationPeer];
  const stop = async (): Promise<void> => {
    const exited = once(child, "exit");
    child.disconnect();
    await exited;
  };
  return { installation, stop };
};

const row = (what: string, value: number, bare: number, target: number): BenchRow => ({
  what,
  value,
  unit: "µs",
  baseline: { what: "µs of a bare node:http answer", value: bare },
  ratio: bare / value,
  target,
});

/**
 * What users feel: requests signed as stock clients sign them, through the gateway to the service, its disk and back,
 * in the CPU time of the processes, which a busy machine changes less than rates.
 */
export const group: BenchGroup = {
  name: "requests",
  run: async () => {
    const { installation, stop } = await startInstallation();
    const { accessKeyId, secretAccessKey } = installation;
    const clientOf = (role: Pick<RequestRole, "kind" | "clients">): Peer =>
      startPeer("request-clients", JSON.stringify({ ...role, accessKeyId, secretAccessKey }));
    const bare = startPeer("object-servers", "http");
    try {
      await prepare(installation);
      const address = await bare.ask<string>({ ask: "start" });
      const bareClient = clientOf({ kind: "get", clients: 16 });
      const rows: BenchRow[] = [];
      for (const measure of measures) {
        const client = clientOf(measure);
        const cost = await best(async () => ({
          bare: await bareCost(bare, address, bareClient),
          ...(await costOf(installation, measure, client)),
        }));
        client.stop();
        const { target, gatewayTarget, clients, parts = 1 } = measure;
        const what = `${measure.what}, ${clients === 1 ? "1 client" : `${clients} clients`}`;
        rows.push(
          row(`${what}: CPU of both`, cost.both / parts, cost.bare, target),
          row(`${what}: CPU of the gateway`, cost.gateway / parts, cost.bare, gatewayTarget),
        );
      }
      bareClient.stop();
      return rows;
    } finally {
      bare.stop();
      await stop();
    }
  },
};
