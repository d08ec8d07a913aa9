import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { FloodingPeers } from "../../../services/kit/server/flooding-peers.ts";
import { closing } from "../../kit/server/raw-http2.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { startHarness } from "../harness.ts";

test("an address that floods the RPC port is shut out of the proxy's, its open connections too", async () => {
  const { workspace } = await startHarness();
  const peers = new FloodingPeers(1, new FakeClock());
  workspace.proxy.refuseFlooders(peers);
  const open = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ port: workspace.proxy.port, host: "127.0.0.1", localAddress });
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    return socket.resume();
  };
  /** Whether a request from an address is answered, rather than its connection closed. */
  const isServed = async (address: string): Promise<boolean> => {
    const socket = await open(address);
    socket.write("GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    await closing(socket);
    return socket.bytesRead > 0;
  };
  const [flooding, other] = [await open("127.0.0.2"), await open("127.0.0.1")];
  expect(await isServed("127.0.0.2")).toBe(true);
  const closed = closing(flooding);
  for (let flood = 0; flood < 2; flood += 1) peers.noteFlood("127.0.0.2");
  await closed;
  expect([await isServed("127.0.0.2"), await isServed("127.0.0.1"), other.closed]).toEqual([false, true, false]);
});
