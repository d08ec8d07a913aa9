import type { BenchGroup, BenchRow } from "./bench.ts";
import { startPeer } from "./peers/peer.ts";

const warmUpMs = 1000;
const measuredMs = 2000;
const bookMegabytes = 64;

interface Figures {
  readonly callsPerSecond: number;
  /** Of the process that answers, without the service behind it. */
  readonly cpuMicrosecondsPerCall: number;
}

const measure = async (server: string, client: string, execArgv: readonly string[] = []): Promise<Figures> => {
  const serving = startPeer("gateway-servers", server, execArgv);
  const calling = startPeer("gateway-clients", client);
  try {
    const address = await serving.ask<string>({ ask: "start" });
    await calling.ask({ ask: "run", address, ms: warmUpMs });
    const before = await serving.ask<number>({ ask: "cpu" });
    const startedMs = performance.now();
    const calls = await calling.ask<number>({ ask: "run", address, ms: measuredMs });
    const seconds = (performance.now() - startedMs) / 1000;
    const used = (await serving.ask<number>({ ask: "cpu" })) - before;
    return { callsPerSecond: calls / seconds, cpuMicrosecondsPerCall: used / calls };
  } finally {
    serving.stop();
    calling.stop();
  }
};

const throughput = (what: string, own: Figures, bare: Figures): BenchRow => ({
  what,
  value: own.callsPerSecond * bookMegabytes,
  unit: "MiB/s",
  baseline: { what: "bare node:http, no service behind", value: bare.callsPerSecond * bookMegabytes },
  ratio: own.callsPerSecond / bare.callsPerSecond,
});

/** Signed requests through the gateway to a service, each in a process of its own, against bare `node:http`. */
export const group: BenchGroup = {
  name: "gateway",
  run: async () => {
    const create = await measure("gateway", "create");
    const bareCreate = await measure("bare", "create");
    const baseline = "bare node:http, no service behind";
    return [
      {
        what: "small signed JSON request, 16 in flight",
        value: create.callsPerSecond,
        unit: "calls/s",
        baseline: { what: baseline, value: bareCreate.callsPerSecond },
        ratio: create.callsPerSecond / bareCreate.callsPerSecond,
      },
      {
        what: "small signed JSON request, CPU of the gateway",
        value: create.cpuMicrosecondsPerCall,
        unit: "µs/call",
        baseline: { what: baseline, value: bareCreate.cpuMicrosecondsPerCall },
        ratio: bareCreate.cpuMicrosecondsPerCall / create.cpuMicrosecondsPerCall,
      },
      throughput("64 MiB download, 2 in flight", await measure("gateway", "get"), await measure("bare", "get")),
      throughput("64 MiB upload, 2 in flight", await measure("gateway", "put"), await measure("bare", "put")),
    ];
  },
};
