import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import { onTestFinished } from "vitest";

/** A server at 127.0.0.1. */
export interface Listener {
  readonly port: number;
  readonly isSecure: boolean;
}

/** Opens a connection, by TLS if the server uses it. It is destroyed when the test ends. */
export const openConnection = async ({ port, isSecure }: Listener, protocol = "http/1.1"): Promise<Socket> => {
  const host = "127.0.0.1";
  const socket = isSecure
    ? connectTls({ host, port, rejectUnauthorized: false, ALPNProtocols: [protocol] })
    : connect({ host, port });
  socket.on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, isSecure ? "secureConnect" : "connect");
  return socket;
};

/** Sends one request and waits for its answer. */
export const askOnce = async (socket: Socket): Promise<void> => {
  socket.write("GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n");
  await once(socket, "data");
};

const http1 = {
  "that send nothing": async (listener: Listener) => (await openConnection({ ...listener, isSecure: false })).resume(),
  "that stop in a header": async (listener: Listener) => {
    const socket = (await openConnection(listener)).resume();
    socket.write("GET /healthz HTTP/1.1\r\nhost:");
    return socket;
  },
  "that were answered": async (listener: Listener) => {
    const socket = await openConnection(listener);
    await askOnce(socket);
    return socket.resume();
  },
};

const http2 = {
  ...http1,
  "of HTTP/2": async (listener: Listener) => {
    const socket = await openConnection(listener, "h2");
    const session = connectHttp2(`http://127.0.0.1:${listener.port}`, { createConnection: () => socket });
    session.on("error", () => undefined);
    const stream = session.request({ ":path": "/healthz" }).resume();
    await once(stream, "end");
    return socket;
  },
};

/** The ways in which a connection can be idle, by what the server speaks; each opens one that reads what it is sent. */
export const idleKinds = { http1, http2 };

/** The connections to a port that its process has not closed, by the ports of their callers. */
export const heldConnections = async (port: number): Promise<ReadonlySet<number>> => {
  const held = new Set<number>();
  for (const line of (await readFile("/proc/net/tcp", "utf8")).split("\n").slice(1)) {
    const [, local = "", remote = "", state, , , , , , inode = "0"] = line.trim().split(/\s+/);
    // What a process has closed, and the system still ends, has no inode any more.
    if (portOf(local) === port && state !== listening && inode !== "0") held.add(portOf(remote));
  }
  return held;
};

const listening = "0A";
const portOf = (address: string): number => Number.parseInt(address.split(":")[1] ?? "", 16);
