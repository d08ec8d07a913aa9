import { readdirSync, readFileSync } from "node:fs";

import type { BenchGroup, BenchRow } from "./bench.ts";
import type { InstallationPeer } from "./peers/installation.ts";
import type { Peer } from "./peers/peer.ts";
import { startPeer } from "./peers/peer.ts";
import type { ProfileKind, ProfileRole } from "./peers/profile-clients.ts";
import { lowest, startInstallation } from "./requests.ts";

const clients = 16;
/** Rounds that count, after those that warm up. */
const rounds = 6;
const warmUpRounds = 4;
const callsPerRound = 500;

/** What is measured. `first` keeps the numbers of profiles apart from those of the other measures. */
interface Measure extends Pick<ProfileRole, "kind" | "by" | "first"> {
  readonly what: string;
}

const kinds: Readonly<Record<ProfileKind, string>> = {
  create: "create a profile",
  object: "put an object that creates a profile",
  search: "find a profile by a key",
};
const millions = 1_000_000;
const measures: readonly Measure[] = (["rpc", "gateway"] as const).flatMap((by, side) =>
  (["create", "object", "search"] as const).map((kind, index) => ({
    what: `${kinds[kind]}, by ${by === "rpc" ? "RPC" : "the gateway"}`,
    kind,
    by,
    first: (1 + 3 * side + index) * millions,
  })),
);

/** One row while it is measured: CPU microseconds of a call in each round. */
interface RowRun {
  readonly run: () => Promise<number>;
  readonly costs: number[];
}

/** An installation with the clients of all rows. */
interface Side {
  readonly rows: readonly RowRun[];
  stop(): Promise<void>;
}

/** Microseconds of CPU that a process has used, all threads together that it has now. */
const cpuOf = (pid: number | undefined): number =>
  readdirSync(`/proc/${pid}/task`).reduce(
    (sum, thread) =>
      sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ")[0]) / 1_000,
    0,
  );

/** CPU microseconds of a call: of the service, and of the gateway if calls pass through it. */
const callCost = async (installation: InstallationPeer, by: ProfileRole["by"], client: Peer): Promise<number> => {
  const pids = [installation.pids["customer-profile"], ...(by === "gateway" ? installation.gatewayPids : [])];
  const used = (): number => pids.reduce<number>((sum, pid) => sum + cpuOf(pid), 0);
  const before = used();
  await client.ask({ ask: "run", address: "", ms: 0, callsMax: callsPerRound });
  return (used() - before) / callsPerRound;
};

const openSide = async (wanted: readonly Measure[], directory?: string): Promise<Side> => {
  const { installation, stop } = await startInstallation(directory);
  const peers: Peer[] = [];
  const clientOf = ({ kind, by, first }: Pick<ProfileRole, "kind" | "by" | "first">): Peer => {
    const role: ProfileRole = { kind, by, first, clients, installation };
    const peer = startPeer("profile-clients", JSON.stringify(role));
    peers.push(peer);
    return peer;
  };
  await clientOf({ kind: "create", by: "rpc", first: 0 }).ask({ ask: "start" });
  const rows = wanted.map((measure): RowRun => {
    const client = clientOf(measure);
    return { run: () => callCost(installation, measure.by, client), costs: [] };
  });
  return {
    rows,
    stop: async () => {
      for (const peer of peers) peer.stop();
      await stop();
    },
  };
};

/** The rows of a call alone, written to LevelDB in one synced batch or read from it. */
const openRaw = async (kind: ProfileKind): Promise<RowRun & { readonly peer: Peer }> => {
  const peer = startPeer("profile-rows", kind);
  await peer.ask({ ask: "start" });
  const run = async (): Promise<number> => {
    const before = await peer.ask<number>({ ask: "cpu" });
    await peer.ask({ ask: "run", address: "", ms: 0, callsMax: callsPerRound });
    return ((await peer.ask<number>({ ask: "cpu" })) - before) / callsPerRound;
  };
  return { peer, run, costs: [] };
};

const rowOf = ({ what, kind, by }: Measure, { costs }: RowRun, raw: RowRun): BenchRow => {
  const value = lowest(costs);
  const bare = lowest(raw.costs);
  return {
    what: `${what}, ${clients} clients: CPU${by === "gateway" ? " of both" : ""}`,
    value,
    unit: "µs",
    baseline: {
      what: kind === "search" ? "µs to read its rows from LevelDB" : "µs of a synced LevelDB batch of its rows",
      value: bare,
    },
    ratio: bare / value,
  };
};

/** Measures the installations of several clones of the repository in the same rounds; the rows of each. */
const measureSides = async (directories: readonly (string | undefined)[], only = ""): Promise<BenchRow[][]> => {
  const wanted = measures.filter(({ what }) => what.includes(only));
  const raw = { create: await openRaw("create"), object: await openRaw("object"), search: await openRaw("search") };
  const sides: Side[] = [];
  try {
    for (const directory of directories) sides.push(await openSide(wanted, directory));
    const runs = [
      ...wanted.flatMap((_measure, index) => sides.map((side) => side.rows[index]!)),
      ...Object.values<RowRun>(raw),
    ];
    for (let round = -warmUpRounds; round < rounds; round += 1)
      for (const { run, costs } of round % 2 === 0 ? runs : runs.toReversed()) {
        const cost = await run();
        if (round >= 0) costs.push(cost);
      }
    return sides.map(({ rows }) => wanted.map((measure, index) => rowOf(measure, rows[index]!, raw[measure.kind])));
  } finally {
    for (const side of sides) await side.stop();
    for (const { peer } of Object.values(raw)) peer.stop();
  }
};

/** What calls of customer profiles cost in the CPU time of the service, and of the gateway where they pass it. */
export const group: BenchGroup = {
  name: "profile-calls",
  run: async (only) => (await measureSides([undefined], only)).flat(),
  runAgainst: async (directory, only) => {
    const [before = [], after = []] = await measureSides([directory, undefined], only);
    return { before, after };
  },
};
