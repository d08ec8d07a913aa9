import { describe, expect, test } from "vitest";

import { openShop } from "../delivery/shop.ts";
import { startHarness } from "../harness.ts";

describe("a schedule", () => {
  test("sends the documented event to the rule's targets, run after run, until the rule stops", async () => {
    const { client, app, clock } = await startHarness();
    const shop = await openShop(client);
    await client.putRule({ name: "tick", scheduleExpression: "rate(5 minutes)" });
    await client.putTargets({ rule: "tick", targets: [{ id: "till", arn: shop.destinationArn }] });
    for (let run = 0; run < 2; run += 1) {
      clock.advance(300_000);
      await app.jobs.idle();
    }
    await client.disableRule({ name: "tick" });
    clock.advance(600_000);
    await app.jobs.idle();
    await client.enableRule({ name: "tick" });
    clock.advance(300_000);
    await app.jobs.idle();
    await client.removeTargets({ rule: "tick", ids: ["till"] });
    await client.deleteRule({ name: "tick" });
    clock.advance(600_000);
    await app.jobs.idle();
    const sent = shop.till.received.map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>);
    expect(sent.map(({ time }) => time)).toEqual([
      "2026-01-02T03:09:05Z",
      "2026-01-02T03:14:05Z",
      "2026-01-02T03:29:05Z",
    ]);
    expect(sent[0]).toMatchObject({
      source: "aws.events",
      "detail-type": "Scheduled Event",
      resources: ["arn:aws:events:us-east-1:000000000000:rule/tick"],
      detail: {},
    });
  });
});
