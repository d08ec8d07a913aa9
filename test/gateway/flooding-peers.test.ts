import { expect, onTestFinished, test } from "vitest";

import { FloodingPeers } from "../../services/kit/server/flooding-peers.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { floodFromOne, shutOut, visitorsOf } from "../support/visitors.ts";
import { dialects, startFixture } from "./support/fixture.ts";

const start = async () => {
  const peers = new FloodingPeers(1, new FakeClock());
  const rpc = { takes: () => false, answer: () => {}, peers };
  const fixture = await startFixture({}, { rpc });
  onTestFinished(() => fixture.stop());
  return { fixture, peers, visitors: visitorsOf(Number(new URL(fixture.url).port), "/novels") };
};

test("an address that floods the RPC port is shut out of the main port, its open connections too", async () => {
  const { peers, visitors } = await start();
  expect(await floodFromOne(peers, visitors)).toEqual(shutOut);
});

test("an address from which a request was signed in its header is not shut out", async () => {
  const {
    fixture,
    peers,
    visitors: { isServed },
  } = await start();
  const headers = fixture.sign("object-storage", "amz", { method: "GET", target: "/novels" });
  expect(Object.keys(headers)).toContain("authorization");
  expect(dialects.amz.signature.algorithm).toBe("AWS4-HMAC-SHA256");
  expect(await isServed("127.0.0.2", headers)).toBe(true);
  for (let flood = 0; flood < 2; flood += 1) peers.noteFlood("127.0.0.2");
  expect(await isServed("127.0.0.2")).toBe(true);
});
