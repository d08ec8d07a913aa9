import { expect, onTestFinished, test } from "vitest";

import { ReplicationState } from "../../gen/quartet/eventbus/v1/global_endpoint_pb.ts";
import { eventually } from "../support/eventually.ts";
import { startHttpReceiver } from "../support/http-receiver.ts";
import { rounds } from "../support/rounds.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { openShop } from "./delivery/shop.ts";
import { startProcess } from "./harness.ts";
import { startRegion } from "./region-address.ts";

/*
 * Two regions as processes with a global endpoint. In each round the health check of the first changes its answer while
 * events are put by the endpoint in both regions, and one of the processes is killed: the first, the second, and so on.
 */

const kills = rounds(3, 200);
const callsPerRound = 40;
const regionNames = ["us-east-1", "us-west-2"] as const;
const eventBuses = regionNames.map((region) => ({
  eventBusArn: `arn:aws:events:${region}:000000000000:event-bus/orders`,
}));

/** A region as a process that can be killed and started again on its data. */
const startRegionProcess = async (region: string, settings: Readonly<Record<string, string>>) => {
  const dataDir = await temporaryDirectory();
  const start = () => startProcess(dataDir, { ...settings, QUARTET_REGION: region });
  return { start, running: await start() };
};

const detailOf = (body: Buffer): number => (JSON.parse(body.toString()) as { detail: { n: number } }).detail.n;

test(
  "no answered event of a global endpoint is lost, however often a region is killed while it fails over",
  async () => {
    let isUp = true;
    const health = await startHttpReceiver(() => ({ status: isUp ? 200 : 503 }));
    onTestFinished(() => health.close());
    const addresses = [await startRegion(), await startRegion()] as const;
    const regions = await Promise.all(
      regionNames.map((region, index) =>
        startRegionProcess(region, {
          QUARTET_EVENT_BUS_PRIVATE_TARGETS: "allow",
          QUARTET_EVENT_BUS_HEALTH_CHECKS: JSON.stringify({ shop: `${health.url}/health` }),
          QUARTET_EVENT_BUS_REGIONS: JSON.stringify({
            [regionNames[1 - index] ?? ""]: {
              url: addresses[1 - index]?.endpoint.url,
              accessKeyId: "AKIDEXAMPLE",
              secretAccessKey: "secret",
            },
          }),
        }),
      ),
    );
    /** How often each sale was delivered in each region. */
    const delivered = regionNames.map(() => new Map<number, number>());
    let endpointId = "";
    for (const [index, { running }] of regions.entries()) {
      const { client } = running;
      addresses[index]?.serve(client);
      const { destinationArn } = await openShop(client, {
        answer: ({ body }) => {
          const n = detailOf(body);
          delivered[index]?.set(n, (delivered[index].get(n) ?? 0) + 1);
          return { status: 200 };
        },
        destination: { invocationRateLimitPerSecond: 100_000 },
      });
      await client.createEventBus({ name: "orders" });
      await client.putRule({ name: "all", eventBusName: "orders", eventPattern: '{"source":["shop"]}' });
      await client.putTargets({ rule: "all", eventBusName: "orders", targets: [{ id: "t", arn: destinationArn }] });
      await client.createEndpoint({
        name: "shop",
        routingConfig: {
          failoverConfig: {
            primary: { healthCheck: "arn:aws:route53:::healthcheck/shop" },
            secondary: { route: "us-west-2" },
          },
        },
        replicationConfig: { state: ReplicationState.DISABLED },
        eventBuses,
      });
      endpointId = (await client.describeEndpoint({ name: "shop" })).endpointId ?? "";
    }

    const answered = new Set<number>();
    let count = 0;
    const sellUntil = async (index: number, isEnough: () => boolean): Promise<void> => {
      while (!isEnough()) {
        const region = regions[index];
        const client = region?.running.client;
        const n = count++;
        const detail = JSON.stringify({ n });
        const entry = { source: "shop", detailType: "Sale", detail, eventBusName: "orders" };
        try {
          const answer = await client?.putEvents({ endpointId, entries: [entry] });
          if (answer?.entries[0]?.eventId !== undefined) answered.add(n);
        } catch {
          await eventually(() => region?.running.client !== client || isEnough(), "the region runs again");
        }
      }
    };
    for (let round = 0; round < kills; round += 1) {
      const wanted = answered.size + callsPerRound;
      // Until the health check has been answered three times by both regions, so that the events move.
      const checks = health.received.length + 6;
      const isEnough = () => answered.size >= wanted && health.received.length >= checks;
      isUp = !isUp;
      const selling = [0, 0, 1, 1].map((index) => sellUntil(index, isEnough));
      await eventually(() => answered.size >= wanted - callsPerRound / 2, "events are put");
      const killed = regions[round % 2];
      await killed?.running.kill();
      if (killed !== undefined) killed.running = await killed.start();
      if (killed !== undefined) addresses[round % 2]?.serve(killed.running.client);
      await Promise.all(selling);
    }

    const isDelivered = (n: number): boolean => delivered.some((sales) => sales.has(n));
    await eventually(() => [...answered].every(isDelivered), "every answered event is delivered in a region");
    const [first = 0, second = 0] = delivered.map(({ size }) => size);
    const deliveries = delivered.flatMap((sales) => [...sales.values()]).reduce((sum, each) => sum + each, 0);
    const twice = deliveries - new Set(delivered.flatMap((sales) => [...sales.keys()])).size;
    console.info(
      `${answered.size} events answered, 0 lost, ${first} and ${second} in each region, ${twice} once more, ${kills} kills`,
    );
    expect([...answered].filter((n) => !isDelivered(n))).toEqual([]);
    // Events were put in both regions, so it has failed over.
    expect([first > 0, second > 0]).toEqual([true, true]);
    // A kill repeats at most the calls and deliveries that were on their way.
    expect(twice).toBeLessThanOrEqual(kills * (4 + callsPerRound));
  },
  120_000 + kills * 30_000,
);
