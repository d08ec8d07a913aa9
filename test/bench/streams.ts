import type { BenchGroup, BenchRow } from "./bench.ts";
import { startPeer } from "./peers/peer.ts";

/** Megabytes per second of one server process and one client process. */
const measure = async (server: string, client: string): Promise<number> => {
  const [serving, calling] = [startPeer("stream-servers", server), startPeer("stream-clients", client)];
  try {
    const address = await serving.ask<string>({ ask: "start" });
    await calling.ask({ ask: "run", address, ms: 0 });
    return await calling.ask<number>({ ask: "run", address, ms: 1000 });
  } finally {
    serving.stop();
    calling.stop();
  }
};

const row = (what: string, value: number, baseline: number, target?: number): BenchRow => ({
  what,
  value,
  unit: "MB/s",
  baseline: { what: "node:http + undici body", value: baseline },
  ratio: value / baseline,
  ...(target === undefined ? {} : { target }),
});

/** Byte streams in chunks of 256 KiB, client and server in separate processes, against bodies without messages. */
export const group: BenchGroup = {
  name: "streams",
  run: async () => {
    const [httpUp, httpDown] = [await measure("node-http", "http-up"), await measure("node-http", "http-down")];
    return [
      row("Connect lane, up", await measure("kit", "connect-up"), httpUp, 0.7),
      row("Connect lane, down", await measure("kit", "connect-down"), httpDown, 0.7),
      row("Connect lane, unix socket, up", await measure("kit-unix", "connect-up"), httpUp),
      row("Connect lane, unix socket, down", await measure("kit-unix", "connect-down"), httpDown),
      row("gRPC lane, up", await measure("kit", "grpc-up"), httpUp),
      row("gRPC lane, down", await measure("kit", "grpc-down"), httpDown),
    ];
  },
};
