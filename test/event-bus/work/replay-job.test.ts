import { describe, expect, test } from "vitest";

import { ReplayState } from "../../../gen/quartet/eventbus/v1/replay_pb.ts";
import { openShop } from "../delivery/shop.ts";
import { startHarness } from "../harness.ts";
import { defaultBus, sell, startReplay } from "../operations/sales.ts";

describe("the steps of a replay", () => {
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
