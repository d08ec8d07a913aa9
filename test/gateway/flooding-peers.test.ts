import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { FloodingPeers } from "../../services/kit/server/flooding-peers.ts";
import { closing } from "../kit/server/raw-http2.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { dialects, startFixture } from "./support/fixture.ts";

const start = async () => {
  const peers = new FloodingPeers(1, new FakeClock());
  const rpc = { takes: () => false, answer: () => {}, peers };
  const fixture = await startFixture({}, { rpc });
  onTestFinished(() => fixture.stop());
  const { port } = new URL(fixture.url);
  const open = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ port: Number(port), host: "127.0.0.1", localAddress });
    socket.on("error", () => {});
    await once(socket, "connect");
    return socket.resume();
  };
  /** Whether a request from an address is answered, rather than its connection closed. */
  const isServed = async (address: string, headers: Record<string, string> = {}): Promise<boolean> => {
    const socket = await open(address);
    const lines = Object.entries({ host: new URL(fixture.url).host, ...headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    socket.write(`GET /novels HTTP/1.1\r\n${lines.join("")}connection: close\r\n\r\n`);
    await closing(socket);
    return socket.bytesRead > 0;
  };
  return { fixture, peers, open, isServed };
};

test("an address that floods the RPC port is shut out of the main port, its open connections too", async () => {
  const { peers, open, isServed } = await start();
  const [flooding, other] = [await open("127.0.0.2"), await open("127.0.0.1")];
  expect(await isServed("127.0.0.2")).toBe(true);
  const closed = closing(flooding);
  for (let flood = 0; flood < 2; flood += 1) peers.noteFlood("127.0.0.2");
  await closed;
  expect([await isServed("127.0.0.2"), await isServed("127.0.0.1"), other.closed]).toEqual([false, true, false]);
  other.destroy();
});

test("an address from which a request was signed in its header is not shut out", async () => {
  const { fixture, peers, isServed } = await start();
  const headers = fixture.sign("object-storage", "amz", { method: "GET", target: "/novels" });
  expect(Object.keys(headers)).toContain("authorization");
  expect(dialects.amz.signature.algorithm).toBe("AWS4-HMAC-SHA256");
  expect(await isServed("127.0.0.2", headers)).toBe(true);
  for (let flood = 0; flood < 2; flood += 1) peers.noteFlood("127.0.0.2");
  expect(await isServed("127.0.0.2")).toBe(true);
});
