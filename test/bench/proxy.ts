import { processes } from "../../services/launcher/processes.ts";
import type { BenchGroup, BenchRow } from "./bench.ts";
import { startPeer } from "./peers/peer.ts";

const warmUpMs = 1000;
const measuredMs = 3000;
const largeMebibytes = 64;

interface Figures {
  readonly perSecond: number;
  /** Of the proxy's process, without the service behind it. */
  readonly cpuMicroseconds: number;
}

const measure = async (server: string, client: string): Promise<Figures> => {
  const serving = startPeer("proxy-servers", server, processes["refactoring-workspace"].nodeFlags);
  const calling = startPeer("proxy-clients", client);
  try {
    const address = await serving.ask<string>({ ask: "start" });
    await calling.ask({ ask: "run", address, ms: warmUpMs });
    const before = await serving.ask<number>({ ask: "cpu" });
    const startedMs = performance.now();
    const count = await calling.ask<number>({ ask: "run", address, ms: measuredMs });
    const seconds = (performance.now() - startedMs) / 1000;
    const used = (await serving.ask<number>({ ask: "cpu" })) - before;
    return { perSecond: count / seconds, cpuMicroseconds: used / count };
  } finally {
    serving.stop();
    calling.stop();
  }
};

const baseline = "bare undici proxy";

const throughput = async (what: string, client: string): Promise<BenchRow> => {
  const bare = await measure("bare", client);
  const own = await measure("workspace", client);
  return {
    what,
    value: own.perSecond * largeMebibytes,
    unit: "MiB/s",
    baseline: { what: baseline, value: bare.perSecond * largeMebibytes },
    ratio: own.perSecond / bare.perSecond,
  };
};

/**
 * Requests through the workspace's proxy, with 200 routes, to a service, each in a process of its own, against the
 * least that passes a request on with `node:http` and undici.
 */
export const group: BenchGroup = {
  name: "proxy",
  run: async () => {
    const bare = await measure("bare", "small");
    const own = await measure("workspace", "small");
    return [
      {
        what: "small request, 32 in flight",
        value: own.perSecond,
        unit: "requests/s",
        baseline: { what: baseline, value: bare.perSecond },
        ratio: own.perSecond / bare.perSecond,
        target: 0.7,
      },
      {
        what: "small request, CPU of the proxy",
        value: own.cpuMicroseconds,
        unit: "µs/request",
        baseline: { what: baseline, value: bare.cpuMicroseconds },
        ratio: bare.cpuMicroseconds / own.cpuMicroseconds,
      },
      await throughput("64 MiB download, 2 in flight", "download"),
      await throughput("64 MiB upload, 2 in flight", "upload"),
    ];
  },
};
