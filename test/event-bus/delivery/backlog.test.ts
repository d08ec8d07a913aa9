import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../../support/eventually.ts";
import { rounds } from "../../support/rounds.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import type { ProcessMemory } from "../../support/service-process.ts";
import { startProcess } from "../harness.ts";
import { openShop } from "./shop.ts";

/** Deliveries that wait for a destination which fails. */
const waitingCount = rounds(3_000, 1_000_000);
/** Rules that each event matches, all with the same destination. */
const rulesCount = 50;
const entriesPerCall = 10;
const callers = 4;
/** What they may add to the memory of the process at most, also while they are put and delivered. */
const memoryMax = 300_000_000;

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

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(0)} MB`;

const shown = ({ peak, anonymous, files }: ProcessMemory): string =>
  `${megabytes(anonymous)} own and ${megabytes(files)} of files, ${megabytes(peak)} at most`;

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
    const idle = await service.memory();

    const entry = { source: "shop", detailType: "Sale", detail: '{"n":1}' };
    let put = 0;
    const putOn = async (): Promise<void> => {
      while (put < waitingCount) {
        put += entriesPerCall * rulesCount;
        await client.putEvents({ entries: Array.from({ length: entriesPerCall }, () => entry) });
      }
    };
    const putMs = performance.now();
    await Promise.all(Array.from({ length: callers }, putOn));
    const putSeconds = (performance.now() - putMs) / 1_000;
    const waiting = await service.memory();
    till.state.isOpen = true;
    const beginMs = performance.now();
    await eventually(() => till.state.accepted >= put, "all is delivered", 40_000 + waitingCount * 5);
    const seconds = (performance.now() - beginMs) / 1_000;
    const delivered = await service.memory();

    console.info(
      `${put} deliveries waited after ${putSeconds.toFixed(1)} s, and were delivered in ${seconds.toFixed(1)} s, ` +
        `${(put / seconds).toFixed(0)}/s. Memory: idle ${shown(idle)}; waiting ${shown(waiting)}; ` +
        `delivered ${shown(delivered)}, which is ${megabytes(delivered.peak - idle.peak)} more`,
    );
    expect(delivered.peak - idle.peak).toBeLessThan(memoryMax);
    expect((await client.listDeadLetters({})).deadLetters).toEqual([]);
  },
  120_000 + waitingCount * 10,
);
