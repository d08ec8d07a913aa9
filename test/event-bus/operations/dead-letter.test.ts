import { describe, expect, test } from "vitest";

import { openShop } from "../delivery/shop.ts";
import { startHarness } from "../harness.ts";

describe("dead letters", () => {
  test("are listed, the latest first, in pages, all or those of one rule", async () => {
    const { client, clock, app } = await startHarness();
    const shop = await openShop(client, { answer: () => ({ status: 404 }) });
    for (let n = 0; n < 3; n += 1) {
      await shop.sell({ n });
      await app.jobs.idle();
      clock.advance(1_000);
    }
    const first = await client.listDeadLetters({ limit: 2 });
    const second = await client.listDeadLetters({ limit: 2, nextToken: first.nextToken });
    const details = [first, second].map((page) =>
      page.deadLetters.map(({ event }) => (JSON.parse(event) as { detail: unknown }).detail),
    );
    expect(details).toEqual([[{ n: 2 }, { n: 1 }], [{ n: 0 }]]);
    expect(second.nextToken).toBeUndefined();
    expect(first.deadLetters[0]).toMatchObject({
      ruleArn: "arn:aws:events:us-east-1:000000000000:rule/sales",
      targetArn: shop.destinationArn,
      errorCode: "ERROR_FROM_TARGET",
      errorMessage: "The endpoint answered with status 404.",
      retryAttempts: 0,
    });
    expect(
      (await client.listDeadLetters({ ruleArn: "arn:aws:events:us-east-1:000000000000:rule/x" })).deadLetters,
    ).toEqual([]);
  });

  test("end a page at 3 MiB, so that a page of large events can be received", async () => {
    const { client, app } = await startHarness();
    const shop = await openShop(client, { answer: () => ({ status: 404 }) });
    const text = "x".repeat(250_000);
    for (let n = 0; n < 15; n += 1) await shop.sell({ n, text });
    await app.jobs.idle();
    const first = await client.listDeadLetters({});
    const second = await client.listDeadLetters({ nextToken: first.nextToken });
    expect([first.deadLetters.length, second.deadLetters.length, second.nextToken]).toEqual([12, 3, undefined]);
    expect(new Set([...first.deadLetters, ...second.deadLetters].map(({ id }) => id)).size).toBe(15);
  });

  test("are delivered anew when they are redriven, once", async () => {
    const { client, app } = await startHarness();
    let isOpen = false;
    const shop = await openShop(client, { answer: () => ({ status: isOpen ? 200 : 404 }) });
    const id = await shop.sell({ n: 1 });
    await app.jobs.idle();
    isOpen = true;
    const ids = (await client.listDeadLetters({})).deadLetters.map((dead) => dead.id);
    expect((await client.redriveDeadLetters({ ids: [...ids, "gone"] })).redrivenCount).toBe(1);
    expect((await client.redriveDeadLetters({ ids })).redrivenCount).toBe(0);
    await app.jobs.idle();
    expect(shop.till.received.map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id)).toEqual([id, id]);
    expect((await client.listDeadLetters({})).deadLetters).toEqual([]);
  });

  test("are redriven to the target as the rule has it then, and to the former one if it is removed", async () => {
    const { client, app } = await startHarness();
    const inputOf = (inputTemplate: string) => ({
      inputTransformer: { inputPathsMap: { n: "$.detail.n" }, inputTemplate },
    });
    const broken = inputOf('{"n":"<n>}');
    const shop = await openShop(client, { target: broken });
    const redrive = async (): Promise<number> => {
      await app.jobs.idle();
      const { deadLetters } = await client.listDeadLetters({});
      await client.redriveDeadLetters({ ids: deadLetters.map(({ id }) => id) });
      await app.jobs.idle();
      return (await client.listDeadLetters({})).deadLetters.length;
    };
    await shop.sell({ n: 1 });
    await app.jobs.idle();
    const mended = { id: "till", arn: shop.destinationArn, ...inputOf('{"n":<n>}') };
    await client.putTargets({ rule: "sales", targets: [mended] });
    expect(await redrive()).toBe(0);
    expect(shop.till.received.map(({ body }) => body.toString())).toEqual(['{"n":1}']);
    await client.putTargets({ rule: "sales", targets: [{ ...mended, ...broken }] });
    await shop.sell({ n: 2 });
    await app.jobs.idle();
    await client.removeTargets({ rule: "sales", ids: ["till"] });
    expect(await redrive()).toBe(1);
  });
});
