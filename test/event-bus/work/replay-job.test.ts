import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";

import { ReplayState } from "../../../gen/quartet/eventbus/v1/replay_pb.ts";
import { openShop } from "../delivery/shop.ts";
import { startHarness } from "../harness.ts";
import { defaultBus, sell, startReplay } from "../operations/sales.ts";

describe("the steps of a replay", () => {
  test("go by event time, each within one minute, the earliest first", async () => {
    const { client, clock, app } = await startHarness();
    await client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
    const startMs = Math.ceil(clock.now() / 60_000) * 60_000;
    const seconds = [130, 10, 70, 59, 0, 60];
    for (const second of seconds)
      await client.putEvents({
        entries: [
          {
            source: "shop",
            detailType: "Sale",
            detail: `{"s":${second}}`,
            time: timestampFromMs(startMs + second * 1_000),
          },
        ],
      });
    const shop = await openShop(client, { destination: { invocationRateLimitPerSecond: 1 } });
    await startReplay(client, startMs, startMs + 3_600_000);
    for (let tick = 0; tick < 10; tick += 1) {
      await app.jobs.idle();
      clock.advance(1_000);
    }
    const sent = shop.till.received.map(({ body }) => Number(/"s":(\d+)/.exec(body.toString())?.[1]));
    const minutes = sent.map((second) => Math.floor(second / 60));
    expect(minutes.toSorted((a, b) => a - b)).toEqual([0, 0, 0, 1, 1, 2]);
    // One step for each minute with events, and the one that finds no more.
    expect(app.jobs.stats().kinds["replay"]?.done).toBe(4);
  });

  test("become smaller where deliveries fill a transaction", async () => {
    const { client, clock, app } = await startHarness({ limits: { deliveriesBytesMax: 20_000 } });
    await client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
    const startMs = clock.now();
    await sell(client, startMs, 7);
    const shop = await openShop(client, { target: { input: JSON.stringify("x".repeat(8_000)) } });
    await startReplay(client, startMs, startMs + 3_600_000);
    await app.jobs.idle();
    expect(shop.till.received).toHaveLength(7);
    expect((await client.describeReplay({ replayName: "again" })).state).toBe(ReplayState.COMPLETED);
  });

  test("end with a failure at an event that has more deliveries than a transaction holds", async () => {
    const { client, clock, app } = await startHarness({ limits: { deliveriesBytesMax: 8_000 } });
    await client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
    const startMs = clock.now();
    await sell(client, startMs, 2);
    const shop = await openShop(client, { target: { input: JSON.stringify("x".repeat(8_000)) } });
    await startReplay(client, startMs, startMs + 3_600_000);
    await app.jobs.idle();
    expect(shop.till.received).toEqual([]);
    const described = await client.describeReplay({ replayName: "again" });
    expect([described.state, described.stateReason?.replace(/[0-9a-f-]{36}/, "id")]).toEqual([
      ReplayState.FAILED,
      "Event id: The event matches targets whose inputs are too large together.",
    ]);
  });
});
