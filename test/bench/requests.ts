import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { CreateBucketCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";

import type { ProcessName } from "../../services/launcher/processes.ts";
import type { BenchGroup, BenchRow } from "./bench.ts";
import type { InstallationPeer } from "./peers/installation.ts";
import { bucket, largeBytes, smallBytes } from "./peers/object-sizes.ts";
import type { Peer } from "./peers/peer.ts";
import { startPeer } from "./peers/peer.ts";
import type { RequestKind, RequestRole } from "./peers/request-clients.ts";

/** Rounds that count, after those that warm up. */
const rounds = 6;
const roundMs = 1_000;
const bareRoundMs = 300;
/** The most rounds in which a row warms up; it is warm when a round costs hardly less than the one before. */
const warmUpRoundsMax = 12;
const warmRatio = 0.95;
const listedCount = 1_000;

/** Pauses without requests: the one, and a rest, after which the processes have given memory back. */
const pauses = [
  { ms: 12_000, what: "a pause of 12 s" },
  { ms: 70_000, what: "a rest" },
];
const pauseRounds = 2;
const firstCalls = 1_000;

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
  // As many at once as MD5 digests are computed together.
  {
    what: "PUT 64 MiB, each MiB",
    kind: "put-large",
    clients: 8,
    target: 0.006,
    gatewayTarget: 0.012,
    parts: megabytes,
  },
  { what: "GET 64 MiB, each MiB", kind: "get-large", clients: 2, target: 0.01, gatewayTarget: 0.02, parts: megabytes },
];

/** Microseconds of CPU that a process has used, all its threads together, in steps of 10 ms. */
const cpuOf = (pid: number | undefined): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
};

/** What requests of a client cost; unless it is said, of as many as there is time for in a round. */
export const costOf = async (
  installation: InstallationPeer,
  measure: Pick<Measure, "kind">,
  client: Peer,
  callsMax?: number,
): Promise<Cost> => {
  const service: ProcessName = measure.kind === "events" ? "event-bus" : "object-storage";
  const gateways = installation.gatewayPids;
  const used = (): readonly [number, number] => [
    gateways.reduce<number>((sum, pid) => sum + cpuOf(pid), 0),
    cpuOf(installation.pids[service]),
  ];
  const before = used();
  const calls = await client.ask<number>({ ask: "run", address: installation.gatewayUrl, ms: roundMs, callsMax });
  const after = used();
  const gateway = (after[0] - before[0]) / calls;
  return { gateway, both: gateway + (after[1] - before[1]) / calls };
};

/** Microseconds of CPU of a `node:http` server that answers 4 KiB to the requests of as many clients. */
const bareCost = async (bare: Peer, address: string, client: Peer): Promise<number> => {
  const before = await bare.ask<number>({ ask: "cpu" });
  const calls = await client.ask<number>({ ask: "run", address, ms: bareRoundMs });
  return ((await bare.ask<number>({ ask: "cpu" })) - before) / calls;
};

/** A row while it is measured. */
interface RowRun {
  readonly measure: Measure;
  /** At most so many calls. Unset: as many as there is time for. */
  readonly run: (callsMax?: number) => Promise<Round>;
  readonly results: Round[];
}

/** An installation with the clients of all rows. */
interface Side {
  readonly rows: readonly RowRun[];
  stop(): Promise<void>;
}

/** Runs all rows in turns until the cost of each is flat. */
const warmUp = async (rows: readonly RowRun[]): Promise<void> => {
  const last = new Map<RowRun, number>();
  let cold = rows;
  for (let round = 0; round < warmUpRoundsMax && cold.length > 0; round += 1) {
    const still: RowRun[] = [];
    for (const each of cold) {
      const { both, bare } = await each.run();
      if (both / bare < (last.get(each) ?? Infinity) * warmRatio) still.push(each);
      last.set(each, both / bare);
    }
    cold = still;
  }
};

/** Runs all rows in turns, every other round in the opposite order, so that no row always follows the same one. */
const measureInTurns = async (rows: readonly RowRun[], count = rounds): Promise<void> => {
  for (let round = 0; round < count; round += 1)
    for (const each of round % 2 === 0 ? rows : rows.toReversed()) each.results.push(await each.run());
};

/** The mean of the lowest third: what other work on the machine adds to a round is in the others. */
export const lowest = (numbers: readonly number[]): number => {
  const third = numbers.toSorted((a, b) => a - b).slice(0, Math.ceil(numbers.length / 3));
  return third.reduce((sum, number) => sum + number, 0) / third.length;
};

const prepare = async ({ gatewayUrl, accessKeyId, secretAccessKey }: InstallationPeer): Promise<void> => {
  const credentials = { accessKeyId, secretAccessKey };
  const objectStorage = new S3Client({ endpoint: gatewayUrl, region: "us-east-1", credentials, forcePathStyle: true });
  await objectStorage.send(new CreateBucketCommand({ Bucket: bucket }));
  for (const [Key, bytes] of [
    ["small-0", smallBytes],
    ["large", largeBytes],
  ] as const)
    await objectStorage.send(new PutObjectCommand({ Bucket: bucket, Key, Body: Buffer.alloc(bytes, "a") }));
  await objectStorage.send(new CreateBucketCommand({ Bucket: "listed" }));
  let put = 0;
  const putAll = async (): Promise<void> => {
    while (put < listedCount)
      await objectStorage.send(new PutObjectCommand({ Bucket: "listed", Key: `key-${put++}`, Body: "a" }));
  };
  await Promise.all(Array.from({ length: 16 }, putAll));
  objectStorage.destroy();
};

/** The repository that this file is part of. */
const ownDirectory = join(import.meta.dirname, "../..");

/** Starts an installation of a clone of the repository at its default log level; the access log is dropped. */
export const startInstallation = async (
  directory = ownDirectory,
): Promise<{ installation: InstallationPeer; stop: () => Promise<void> }> => {
  const child = fork(join(directory, "test/bench/peers/installation.ts"), {
    cwd: directory,
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

/** The row of one of the costs: the lowest rounds, for one part of a request. */
const rowOf = (
  what: string,
  results: readonly Round[],
  of: keyof Cost,
  { target, parts = 1 }: { readonly target: number; readonly parts?: number | undefined },
): BenchRow => {
  const value = lowest(results.map((round) => round[of])) / parts;
  const bare = lowest(results.map((round) => round.bare));
  return {
    what: `${what}: CPU of ${of === "both" ? "both" : "the gateway"}`,
    value,
    unit: "µs",
    baseline: { what: "µs of a bare node:http answer", value: bare },
    ratio: bare / value,
    target,
  };
};

const nameOf = ({ what, clients }: Pick<Measure, "what" | "clients">): string =>
  `${what}, ${clients === 1 ? "1 client" : `${clients} clients`}`;

const rowsOf = ({ measure, results }: RowRun): BenchRow[] => {
  const { target, gatewayTarget, parts } = measure;
  const what = nameOf(measure);
  return [
    rowOf(what, results, "both", { target, parts }),
    rowOf(what, results, "gateway", { target: gatewayTarget, parts }),
  ];
};

const isPausedMeasure = ({ kind, clients }: Measure): boolean => kind === "get" && clients === 16;

/** What requests cost of which the first ones come after a time without any: the row, and how it is measured. */
const pausedRow = (rows: readonly RowRun[], pauseName: string): RowRun[] =>
  rows
    .filter(({ measure }) => isPausedMeasure(measure))
    .map(({ measure, run }) => ({
      measure: {
        ...measure,
        what: `${measure.what}, the first ${firstCalls.toLocaleString("en-US")} after ${pauseName}`,
      },
      run: () => run(firstCalls),
      results: [],
    }));

/** Starts an installation of a clone of the repository, and clients that use it, beside a bare server. */
const openSide = async (
  bare: Peer,
  bareAddress: string,
  wanted: readonly Measure[],
  directory?: string,
): Promise<Side> => {
  const { installation, stop } = await startInstallation(directory);
  const { accessKeyId, secretAccessKey } = installation;
  const clients: Peer[] = [];
  const clientOf = ({ kind, clients: count }: Pick<RequestRole, "kind" | "clients">): Peer => {
    const client = startPeer("request-clients", JSON.stringify({ kind, clients: count, accessKeyId, secretAccessKey }));
    clients.push(client);
    return client;
  };
  await prepare(installation);
  const bareClients = new Map<number, Peer>();
  for (const count of new Set(wanted.map((measure) => measure.clients)))
    bareClients.set(count, clientOf({ kind: "get", clients: count }));
  const rows = wanted.map((measure): RowRun => {
    const client = clientOf(measure);
    const run = async (callsMax?: number): Promise<Round> => ({
      bare: await bareCost(bare, bareAddress, bareClients.get(measure.clients)!),
      ...(await costOf(installation, measure, client, callsMax)),
    });
    return { measure, run, results: [] };
  });
  return {
    rows,
    stop: async () => {
      for (const client of clients) client.stop();
      await stop();
    },
  };
};

/** Measures the installations of several clones of the repository in the same rounds; the rows of each. */
const measureSides = async (directories: readonly (string | undefined)[], only = ""): Promise<BenchRow[][]> => {
  const bare = startPeer("object-servers", "http");
  const sides: Side[] = [];
  try {
    const address = await bare.ask<string>({ ask: "start" });
    const wanted = measures.filter((measure) => nameOf(measure).includes(only));
    for (const directory of directories) sides.push(await openSide(bare, address, wanted, directory));
    const rows = wanted.flatMap((_measure, index) => sides.map((side) => side.rows[index]!));
    await warmUp(rows);
    await measureInTurns(rows);
    const paused: RowRun[][] = sides.map(() => []);
    const isPaused = wanted.some(isPausedMeasure);
    for (const { ms, what } of isPaused ? pauses : []) {
      const runs = sides.map((side) => pausedRow(side.rows, what));
      for (let round = 0; round < pauseRounds; round += 1) {
        await pause(ms);
        await measureInTurns(runs.flat(), 1);
      }
      for (const [index, run] of runs.entries()) paused[index]?.push(...run);
    }
    return sides.map((side, index) => [...side.rows, ...(paused[index] ?? [])].flatMap(rowsOf));
  } finally {
    for (const side of sides) await side.stop();
    bare.stop();
  }
};

/**
 * What users feel: requests signed as stock clients sign them, through the gateway to the service, its disk and back,
 * in the CPU time of the processes, which a busy machine changes less than rates. Code is slow until it has run some
 * thousand times, so every row runs until its cost is flat, and only then rounds count; what the first requests cost
 * has rows of its own.
 */
export const group: BenchGroup = {
  name: "requests",
  run: async (only) => (await measureSides([undefined], only)).flat(),
  runAgainst: async (directory, only) => {
    const [before = [], after = []] = await measureSides([directory, undefined], only);
    return { before, after };
  },
};
