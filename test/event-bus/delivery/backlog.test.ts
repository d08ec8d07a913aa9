import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../../support/eventually.ts";
import { rounds } from "../../support/rounds.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { startProcess } from "../harness.ts";
import { openShop } from "./shop.ts";

/** Deliveries that wait for a destination which fails. */
const waitingCount = rounds(3_000, 1_000_000);
/** Rules that each event matches, all with the same destination. */
const rulesCount = 50;
const entriesPerCall = 10;
const callers = 4;
/** What the second half of them may add to the memory of the process. */
const memoryMax = 300 * 1024 * 1024;

/** An endpoint that fails until it is open, and keeps nothing of its requests. */
const openTill = async () => {
  const state = { isOpen: false, accepted: 0 };
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      if (state.isOpen) state.accepted += 1;
      response.writeHead(state.isOpen ? 200 : 503).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, state };
};

const mebibytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;

test(
  "a backlog of deliveries is on disk, not in memory, and is delivered once its destination answers",
  async () => {
    const service = await startProcess(await temporaryDirectory(), {
      QUARTET_EVENT_BUS_PRIVATE_TARGETS: "allow",
    });
    const { client } = service;
    const till = await openTill();
    const shop = await openShop(client, {
      destination: { invocationEndpoint: till.url, invocationRateLimitPerSecond: 1_000_000 },
    });
    for (let n = 1; n < rulesCount; n += 1) {
      await client.putRule({ name: `sales-${n}`, eventPattern: '{"source":["shop"]}' });
      await client.putTargets({ rule: `sales-${n}`, targets: [{ id: "till", arn: shop.destinationArn }] });
    }
    const idleBytes = await service.peakMemoryBytes();

    const entry = { source: "shop", detailType: "Sale", detail: '{"n":1}' };
    let put = 0;
    const putUntil = async (count: number): Promise<void> => {
      const putOn = async (): Promise<void> => {
        while (put < count) {
          put += entriesPerCall * rulesCount;
          await client.putEvents({ entries: Array.from({ length: entriesPerCall }, () => entry) });
        }
      };
      await Promise.all(Array.from({ length: callers }, putOn));
    };
    // The load itself needs memory, however much waits: garbage, and what is being written.
    await putUntil(waitingCount / 2);
    const loadedBytes = await service.peakMemoryBytes();
    await putUntil(waitingCount);
    till.state.isOpen = true;
    const beginMs = performance.now();
    await eventually(() => till.state.accepted >= put, "all is delivered", 40_000 + waitingCount * 5);
    const seconds = (performance.now() - beginMs) / 1_000;
    const peakBytes = await service.peakMemoryBytes();

    console.info(
      `${put} deliveries waited: ${mebibytes(idleBytes)} idle, ${mebibytes(loadedBytes)} with a half of them, ` +
        `${mebibytes(peakBytes)} at most; ` +
        `delivered in ${seconds.toFixed(1)} s, ${(put / seconds).toFixed(0)}/s`,
    );
    expect(peakBytes - loadedBytes).toBeLessThan(memoryMax);
    expect((await client.listDeadLetters({})).deadLetters).toEqual([]);
  },
  120_000 + waitingCount * 10,
);
