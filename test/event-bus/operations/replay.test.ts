import { timestampMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";

import { ReplayState } from "../../../gen/quartet/eventbus/v1/replay_pb.ts";
import { openShop } from "../delivery/shop.ts";
import { refusalOf, startHarness } from "../harness.ts";
import { arnPrefix, defaultBus, sell, startReplay } from "./sales.ts";

describe("startReplay, describeReplay, listReplays and cancelReplay", () => {
  test("sends the events of its time once more, marked with its name, and none into the archive", async () => {
    const { client, clock, app } = await startHarness();
    await client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
    const startMs = clock.now();
    await sell(client, startMs, 120);
    const shop = await openShop(client, { destination: { invocationRateLimitPerSecond: 100_000 } });
    const made = await startReplay(client, startMs + 60_000, startMs + 119 * 60_000);
    expect([made.replayArn, made.state]).toEqual([`${arnPrefix}:replay/again`, ReplayState.STARTING]);
    await app.jobs.idle();
    const sent = shop.till.received.map(
      ({ body }) => JSON.parse(body.toString()) as { detail: { n: number }; "replay-name": string },
    );
    expect(sent.map(({ detail }) => detail.n).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 118 }, (_, index) => index + 1),
    );
    expect(new Set(sent.map((event) => event["replay-name"]))).toEqual(new Set(["again"]));
    const described = await client.describeReplay({ replayName: "again" });
    expect(described.state).toBe(ReplayState.COMPLETED);
    expect(described.eventLastReplayedTime && timestampMs(described.eventLastReplayedTime)).toBe(
      startMs + 118 * 60_000,
    );
    expect((await client.describeArchive({ archiveName: "sales" })).eventCount).toBe(120n);
  });

  test("reaches only the rules that it names", async () => {
    const { client, clock, app } = await startHarness();
    await client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
    const startMs = clock.now();
    await sell(client, startMs, 1);
    const shop = await openShop(client);
    await client.putRule({ name: "other", eventPattern: '{"source":["shop"]}' });
    await client.putTargets({ rule: "other", targets: [{ id: "1", arn: shop.destinationArn, input: '"other"' }] });
    await startReplay(client, startMs, startMs + 1, {
      destination: { arn: defaultBus, filterArns: [`${arnPrefix}:rule/other`] },
    });
    await app.jobs.idle();
    expect(shop.till.received.map(({ body }) => body.toString())).toEqual(['"other"']);
  });

  test("stops when it is cancelled", async () => {
    const idle = await startHarness({ works: false });
    const { clock, directory } = idle;
    await idle.client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
    await sell(idle.client, clock.now(), 1);
    await startReplay(idle.client, clock.now(), clock.now() + 1);
    expect((await idle.client.cancelReplay({ replayName: "again" })).state).toBe(ReplayState.CANCELLING);
    const ended = "REPLAY_NOT_CANCELLABLE: Replay again is not in a valid state for this operation.";
    expect(await refusalOf(idle.client.cancelReplay({ replayName: "again" }))).toBe(ended);
    await idle.stop();
    const { client, app } = await startHarness({ directory, clock });
    await app.jobs.idle();
    const described = await client.describeReplay({ replayName: "again" });
    expect([described.state, described.eventLastReplayedTime]).toEqual([ReplayState.CANCELLED, undefined]);
    expect(
      (await client.listReplays({ state: ReplayState.CANCELLED })).replays.map(({ replayName }) => replayName),
    ).toEqual(["again"]);
    expect(await refusalOf(client.cancelReplay({ replayName: "again" }))).toBe(ended);
  });

  test("is refused, in this order", async () => {
    const { client } = await startHarness({ works: false, limits: { activeReplaysMax: 1 } });
    await client.createEventBus({ name: "orders" });
    await client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
    await startReplay(client, 0, 1);
    // change | refusal
    const refuses: [number, object, string][] = [
      [
        0,
        { destination: { arn: "x" } },
        "Parameter EventEndTime is not valid. Reason: EventStartTime must be before EventEndTime.",
      ],
      [
        1,
        { destination: { arn: "x" }, eventSourceArn: "x" },
        "Parameter Destination.Arn is not valid. Reason: Must contain an event bus ARN.",
      ],
      [
        1,
        { eventSourceArn: "x" },
        "Parameter EventSourceArn is not valid. Reason: Must contain an archive ARN of this account.",
      ],
      [
        1,
        { destination: { arn: `${arnPrefix}:event-bus/gone` }, eventSourceArn: `${arnPrefix}:archive/gone` },
        "Event bus gone does not exist.",
      ],
      [
        1,
        { eventSourceArn: `${arnPrefix}:archive/gone` },
        "Parameter EventSourceArn is not valid. Reason: Archive gone does not exist.",
      ],
      [
        1,
        { destination: { arn: `${arnPrefix}:event-bus/orders` } },
        "Parameter Destination.Arn is not valid. Reason: Cross event bus replay is not permitted.",
      ],
      [1, {}, "Replay again already exists."],
      [1, { replayName: "more" }, "LIMIT_EXCEEDED"],
    ];
    const answers = await Promise.all(
      refuses.map(([endMs, change]) => refusalOf(startReplay(client, 0, endMs, change))),
    );
    expect(answers.map((answer) => answer.replace(/^\w+: /, ""))).toEqual(refuses.map(([, , refusal]) => refusal));
    expect(await refusalOf(client.describeReplay({ replayName: "gone" }))).toBe(
      "REPLAY_NOT_FOUND: Replay gone does not exist.",
    );
  });
});
