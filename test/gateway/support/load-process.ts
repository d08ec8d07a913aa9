// Run as a process of its own by tests of the gateway, so that what it costs is not counted there: opens connections
// that are idle, that stop in the middle of a request, and that upload much, each at a limited rate.
import { once } from "node:events";
import type { Socket } from "node:net";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** What the process is to do, sent by its parent. */
export interface LoadOrder {
  readonly port: number;
  /** Connections that send nothing. */
  readonly idle: number;
  /** What each of the slow connections sends before it stops. */
  readonly slow: readonly string[];
  /** The heads of the uploads. */
  readonly large: readonly string[];
  readonly largeBytes: number;
  readonly largeBytesPerSecond: number;
}

/**
 * What the process reports: when it has opened its connections, when all uploads are answered, and when all connections
 * are closed.
 */
export type LoadReport =
  | {
      readonly kind: "open";
      /** How many of them are open at this time. */
      readonly connections: number;
    }
  | {
      readonly kind: "done";
      /** The status of each upload; undefined: its connection was closed. */
      readonly statuses: readonly (string | undefined)[];
      /** How many of the idle and slow connections are still open. */
      readonly others: number;
    }
  | { readonly kind: "cut" };

const piece = Buffer.alloc(16_384, "E");

/** The connections that are open. */
const openSockets = new Set<Socket>();

const open = async (port: number): Promise<Socket> => {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  openSockets.add(socket);
  socket.on("close", () => openSockets.delete(socket));
  return socket;
};

/** Opens so many connections, a few at a time. */
const openAll = async (port: number, count: number): Promise<Socket[]> => {
  const sockets: Socket[] = [];
  while (sockets.length < count)
    sockets.push(
      ...(await Promise.all(Array.from({ length: Math.min(50, count - sockets.length) }, () => open(port)))),
    );
  return sockets;
};

/** Resolves when the network has taken what was written, or is gone. */
const drained = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      socket.off("drain", done);
      socket.off("close", done);
      resolve();
    };
    socket.on("drain", done);
    socket.on("close", done);
  });

const upload = async (socket: Socket, head: string, order: LoadOrder): Promise<string | undefined> => {
  const answered = new Promise<string | undefined>((resolve) => {
    socket.once("data", (first: Buffer) => resolve(first.toString("latin1").split(" ")[1]));
    socket.once("close", () => resolve(undefined));
  });
  socket.write(head);
  const startedMs = performance.now();
  for (let sent = 0; sent < order.largeBytes && socket.writable; sent += piece.length) {
    const dueMs = (1_000 * sent) / order.largeBytesPerSecond;
    const waitMs = startedMs + dueMs - performance.now();
    if (waitMs > 0) await delay(waitMs);
    if (!socket.write(piece)) await drained(socket);
  }
  return answered;
};

// eslint-disable-next-line unicorn/require-post-message-target-origin -- a message between processes has no origin
const report = (message: LoadReport): void => void process.send?.(message);

const [order] = (await once(process, "message")) as [LoadOrder];
const others = [...(await openAll(order.port, order.idle)), ...(await openAll(order.port, order.slow.length))];
for (const [index, socket] of others.entries()) {
  socket.resume();
  if (index >= order.idle) socket.write(order.slow[index - order.idle]!);
}
const sockets = await openAll(order.port, order.large.length);
report({ kind: "open", connections: openSockets.size });
const statuses = await Promise.all(sockets.map((socket, index) => upload(socket, order.large[index]!, order)));
report({ kind: "done", statuses, others: others.filter((socket) => openSockets.has(socket)).length });
await Promise.all([...openSockets].map((socket) => once(socket, "close")));
report({ kind: "cut" });
