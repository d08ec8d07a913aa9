import type { BenchGroup, BenchRow } from "./bench.ts";
import type { PeerPair } from "./peers/rounds.ts";
import { inRounds } from "./peers/rounds.ts";

const rounds = 3;
const roundMs = 600;

interface Round {
  readonly callsPerSecond: number;
  /** Of both processes. */
  readonly cpuMicrosecondsPerCall: number;
}

const measure = async ({ serving, calling, address }: PeerPair): Promise<Round> => {
  const cpu = async (): Promise<number> =>
    (await serving.ask<number>({ ask: "cpu" })) + (await calling.ask<number>({ ask: "cpu" }));
  const before = await cpu();
  const startedMs = performance.now();
  const calls = await calling.ask<number>({ ask: "run", address, ms: roundMs });
  const seconds = (performance.now() - startedMs) / 1000;
  return { callsPerSecond: calls / seconds, cpuMicrosecondsPerCall: ((await cpu()) - before) / calls };
};

/** The best round: what disturbs a round only makes it worse. */
const best = (all: readonly Round[] = []): Round => ({
  callsPerSecond: Math.max(...all.map((round) => round.callsPerSecond)),
  cpuMicrosecondsPerCall: Math.min(...all.map((round) => round.cpuMicrosecondsPerCall)),
});

const rows = (what: string, pair: Round, name: string, baseline: Round, target?: number): BenchRow[] => [
  {
    what: `${what}, 16 in flight`,
    value: pair.callsPerSecond,
    unit: "calls/s",
    baseline: { what: name, value: baseline.callsPerSecond },
    ratio: pair.callsPerSecond / baseline.callsPerSecond,
    ...(target === undefined ? {} : { target }),
  },
  {
    what: `${what}, CPU of both ends`,
    value: pair.cpuMicrosecondsPerCall,
    unit: "µs/call",
    baseline: { what: name, value: baseline.cpuMicrosecondsPerCall },
    ratio: baseline.cpuMicrosecondsPerCall / pair.cpuMicrosecondsPerCall,
  },
];

/** Calls with one request and one answer of about 300 bytes, client and server in separate processes. */
export const group: BenchGroup = {
  name: "rpc",
  run: async () => {
    const scripts = { servers: "unary-servers", clients: "unary-clients" };
    const pairs = {
      grpcJs: ["grpc-js", "grpc-js"],
      http: ["node-http", "undici"],
      connect: ["kit", "kit-connect"],
      watched: ["kit-watched", "kit-connect"],
      connectUnix: ["kit-unix", "kit-connect"],
      grpc: ["kit", "kit-grpc"],
      grpcStock: ["kit", "grpc-js"],
      grpcBare: ["node-http2", "grpc-js"],
    } as const;
    const measured = await inRounds(scripts, pairs, rounds, measure);
    const grpcJs = best(measured["grpcJs"]);
    return [
      ...rows("Connect lane, TCP", best(measured["connect"]), "grpc-js pair", grpcJs, 4),
      ...rows("Connect lane with metrics", best(measured["watched"]), "the same without", best(measured["connect"])),
      ...rows("Connect lane, unix socket", best(measured["connectUnix"]), "grpc-js pair", grpcJs, 4),
      ...rows("gRPC lane, our client", best(measured["grpc"]), "grpc-js pair", grpcJs),
      ...rows("gRPC lane, bare grpc-js client", best(measured["grpcStock"]), "grpc-js pair", grpcJs),
      ...rows("the same", best(measured["grpcStock"]), "node:http2 by hand", best(measured["grpcBare"]), 0.9),
      ...rows("Connect lane, TCP", best(measured["connect"]), "node:http + undici by hand", best(measured["http"])),
    ];
  },
};
