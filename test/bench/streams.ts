import type { BenchGroup, BenchRow } from "./bench.ts";
import { inRounds } from "./peers/rounds.ts";

const rounds = 3;

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
    const scripts = { servers: "stream-servers", clients: "stream-clients" };
    const pairs = {
      httpUp: ["node-http", "http-up"],
      httpDown: ["node-http", "http-down"],
      connectUp: ["kit", "connect-up"],
      connectDown: ["kit", "connect-down"],
      unixUp: ["kit-unix", "connect-up"],
      unixDown: ["kit-unix", "connect-down"],
      grpcUp: ["kit", "grpc-up"],
      grpcDown: ["kit", "grpc-down"],
    } as const;
    const measured = await inRounds(scripts, pairs, rounds, ({ calling, address }) =>
      calling.ask<number>({ ask: "run", address, ms: 100 }),
    );
    const best = (name: keyof typeof pairs): number => Math.max(...(measured[name] ?? []));
    const [httpUp, httpDown] = [best("httpUp"), best("httpDown")];
    return [
      row("Connect lane, up", best("connectUp"), httpUp, 0.7),
      row("Connect lane, down", best("connectDown"), httpDown, 0.7),
      row("Connect lane, unix socket, up", best("unixUp"), httpUp),
      row("Connect lane, unix socket, down", best("unixDown"), httpDown),
      row("gRPC lane, up", best("grpcUp"), httpUp),
      row("gRPC lane, down", best("grpcDown"), httpDown),
    ];
  },
};
