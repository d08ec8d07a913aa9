import type { Socket } from "node:net";

import { describe, expect, test } from "vitest";

import { FloodingPeers } from "../../../services/kit/server/flooding-peers.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const start = () => {
  const clock = new FakeClock();
  const peers = new FloodingPeers(2, clock);
  const flood = (address: string, times: number): void => {
    for (let count = 0; count < times; count += 1) peers.noteFlood(address);
  };
  return { clock, peers, flood };
};

const connectionFrom = (remoteAddress: string | undefined): Socket => ({ remoteAddress }) as unknown as Socket;

test("an address is shut out by one flood more than it may have in a minute, and for a minute after its last one", () => {
  const { clock, peers, flood } = start();
  const outs: string[] = [];
  peers.whenOut(() => outs.push("192.0.2.1"));
  flood("192.0.2.1", 2);
  expect([peers.isOut("192.0.2.1"), outs]).toEqual([false, []]);
  flood("192.0.2.1", 1);
  expect(outs).toEqual(["192.0.2.1"]);
  expect([peers.isOut("192.0.2.1"), peers.isOut("192.0.2.2"), peers.isOut(undefined)]).toEqual([true, false, false]);
  clock.advance(50_000);
  peers.noteFlood("192.0.2.1");
  clock.advance(59_000);
  expect(peers.isOut("192.0.2.1")).toBe(true);
  clock.advance(1_000);
  expect(peers.isOut("192.0.2.1")).toBe(false);
});

test("the address of a proxy, behind which everybody may be, is never shut out", () => {
  const peers = new FloodingPeers(1, new FakeClock(), (address) => address === "192.0.2.1");
  for (const address of ["192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.2"]) peers.noteFlood(address);
  expect([peers.isOut("192.0.2.1"), peers.isOut("192.0.2.2")]).toEqual([false, true]);
});

test("floods that are more than a minute apart are not counted together", () => {
  const { clock, peers, flood } = start();
  flood("192.0.2.1", 2);
  clock.advance(60_000);
  flood("192.0.2.1", 2);
  expect(peers.isOut("192.0.2.1")).toBe(false);
});

test("a clock that is set back by a day lets everybody in", () => {
  const { clock, peers, flood } = start();
  flood("192.0.2.1", 3);
  clock.advance(-86_400_000);
  expect(peers.isOut("192.0.2.1")).toBe(false);
});

describe("addresses that one subscriber has are one", () => {
  test.each([
    // floods from, out, not out
    ["2001:db8:1:2::5", "2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:3::5"],
    ["2001:db8::5", "2001:db8:0:0:1:2:3:4", "2001:db8:0:1::5"],
    ["::ffff:192.0.2.1", "192.0.2.1", "192.0.2.2"],
    ["::1", "::2", "127.0.0.1"],
    ["fe80::1%eth0", "fe80::2", "fe81::1"],
  ])("%s", (from, out, notOut) => {
    const { peers, flood } = start();
    flood(from, 3);
    expect([peers.isOut(out), peers.isOut(notOut)]).toEqual([true, false]);
  });
});

describe("a caller that has proved itself within ten minutes", () => {
  test("keeps its address in, before and after the floods", () => {
    const { clock, peers, flood } = start();
    peers.noteCaller(connectionFrom("192.0.2.1"));
    flood("192.0.2.1", 3);
    expect(peers.isOut("192.0.2.1")).toBe(false);
    flood("192.0.2.2", 3);
    peers.noteCaller(connectionFrom("192.0.2.2"));
    expect(peers.isOut("192.0.2.2")).toBe(false);
    clock.advance(600_000);
    flood("192.0.2.1", 3);
    expect(peers.isOut("192.0.2.1")).toBe(true);
  });

  test("on the same connection as before proves its address again", () => {
    const { clock, peers, flood } = start();
    const connection = connectionFrom("192.0.2.1");
    for (let minute = 0; minute < 20; minute += 1) {
      peers.noteCaller(connection);
      clock.advance(60_000);
    }
    flood("192.0.2.1", 3);
    expect(peers.isOut("192.0.2.1")).toBe(false);
  });

  test("over a unix socket has no address", () => {
    const { peers, flood } = start();
    peers.noteCaller(connectionFrom(undefined));
    peers.noteCaller(undefined);
    flood("192.0.2.1", 3);
    expect(peers.isOut("192.0.2.1")).toBe(true);
  });
});

describe("a connection with 32 forged tokens", () => {
  const forgingFrom = (remoteAddress: string) => {
    const connection = { remoteAddress, isDestroyed: false, destroy: () => (connection.isDestroyed = true) };
    return connection;
  };
  const forge = (peers: FloodingPeers, connection: object, times: number): void => {
    for (let count = 0; count < times; count += 1) peers.noteForgery(connection as Socket);
  };

  test("is dropped, and counts as one that floods", () => {
    const { peers } = start();
    const connections = [1, 2, 3].map(() => forgingFrom("192.0.2.1"));
    for (const connection of connections) forge(peers, connection, 31);
    expect(connections.map(({ isDestroyed }) => isDestroyed)).toEqual([false, false, false]);
    for (const connection of connections) forge(peers, connection, 1);
    expect(connections.map(({ isDestroyed }) => isDestroyed)).toEqual([true, true, true]);
    expect(peers.refuses(connectionFrom("192.0.2.1"))).toBe(true);
  });

  test("is kept if a valid one was shown on it", () => {
    const { peers } = start();
    const connection = forgingFrom("192.0.2.1");
    peers.noteCaller(connection as unknown as Socket);
    forge(peers, connection, 100);
    expect(connection.isDestroyed).toBe(false);
  });
});

test("only so many addresses are remembered, the latest of them", () => {
  const { peers, flood } = start();
  flood("192.0.2.1", 3);
  for (let at = 0; at < 10_000; at += 1) peers.noteFlood(`10.0.${at >> 8}.${at & 255}`);
  flood("192.0.2.2", 3);
  expect([peers.isOut("192.0.2.1"), peers.isOut("192.0.2.2")]).toEqual([false, true]);
});
