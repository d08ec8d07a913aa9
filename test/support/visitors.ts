import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";

import { onTestFinished } from "vitest";

import type { FloodingPeers } from "../../services/kit/server/flooding-peers.ts";
import { closing } from "../kit/server/raw-http2.ts";

/** Who asks for a page at a port, from any address of 127.0.0.0/8. */
export interface Visitors {
  /** A connection from an address, whose bytes are dropped. */
  open(address: string): Promise<Socket>;
  /** Whether a request from an address is answered, rather than its connection closed. */
  isServed(address: string, headers?: Readonly<Record<string, string>>): Promise<boolean>;
}

export const visitorsOf = (port: number, target: string): Visitors => {
  const open = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ port, host: "127.0.0.1", localAddress });
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    return socket.resume();
  };
  return {
    open,
    async isServed(address, headers = {}) {
      const socket = await open(address);
      const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers }).map(
        ([name, value]) => `${name}: ${value}\r\n`,
      );
      socket.write(`GET ${target} HTTP/1.1\r\n${lines.join("")}connection: close\r\n\r\n`);
      await closing(socket);
      return socket.bytesRead > 0;
    },
  };
};

/** What becomes of two addresses when one of them has flooded elsewhere. */
interface FloodOutcome {
  readonly wasServed: boolean;
  readonly isServed: boolean;
  readonly isOtherServed: boolean;
  readonly isOtherClosed: boolean;
}

/** Floods from one of two addresses with open connections, and ends when that one's is closed. */
export const floodFromOne = async (peers: FloodingPeers, visitors: Visitors): Promise<FloodOutcome> => {
  const [flooding, other] = [await visitors.open("127.0.0.2"), await visitors.open("127.0.0.1")];
  const wasServed = await visitors.isServed("127.0.0.2");
  const closed = closing(flooding);
  for (let flood = 0; flood < 2; flood += 1) peers.noteFlood("127.0.0.2");
  await closed;
  const isServed = await visitors.isServed("127.0.0.2");
  const isOtherServed = await visitors.isServed("127.0.0.1");
  return { wasServed, isServed, isOtherServed, isOtherClosed: other.closed };
};

/** The outcome where the address that flooded is shut out, its open connection too, and no other one. */
export const shutOut: FloodOutcome = { wasServed: true, isServed: false, isOtherServed: true, isOtherClosed: false };
