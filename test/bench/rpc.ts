import type { BenchGroup, BenchRow } from "./bench.ts";
import { startPeer } from "./peers/peer.ts";

const warmUpMs = 700;
const measuredMs = 1500;

interface Pair {
  readonly callsPerSecond: number;
  /** Of both processes. */
  readonly cpuMicrosecondsPerCall: number;
}

/** Measures one server process and one client process at 16 calls in flight. */
const measure = async (server: string, client: string): Promise<Pair> => {
  const [serving, calling] = [startPeer("unary-servers", server), startPeer("unary-clients", client)];
  try {
    const address = await serving.ask<string>({ ask: "start" });
    await calling.ask({ ask: "run", address, ms: warmUpMs });
    const cpu = async (): Promise<number> =>
      (await serving.ask<number>({ ask: "cpu" })) + (await calling.ask<number>({ ask: "cpu" }));
    const before = await cpu();
    const startedMs = performance.now();
    const calls = await calling.ask<number>({ ask: "run", address, ms: measuredMs });
    const seconds = (performance.now() - startedMs) / 1000;
    return { callsPerSecond: calls / seconds, cpuMicrosecondsPerCall: ((await cpu()) - before) / calls };
  } finally {
    serving.stop();
    calling.stop();
  }
};

const rows = (what: string, pair: Pair, name: string, baseline: Pair, target?: number): BenchRow[] => [
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
    const grpcJs = await measure("grpc-js", "grpc-js");
    const http = await measure("node-http", "undici");
    const connect = await measure("kit", "kit-connect");
    const connectUnix = await measure("kit-unix", "kit-connect");
    const grpc = await measure("kit", "kit-grpc");
    return [
      ...rows("Connect lane, TCP", connect, "grpc-js pair", grpcJs, 4),
      ...rows("Connect lane, unix socket", connectUnix, "grpc-js pair", grpcJs),
      ...rows("gRPC lane", grpc, "grpc-js pair", grpcJs, 1.2),
      ...rows("Connect lane, TCP", connect, "node:http + undici by hand", http),
    ];
  },
};
