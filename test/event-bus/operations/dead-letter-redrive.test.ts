import { timestampMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";

import { DeadLetterRedriveState } from "../../../gen/quartet/eventbus/v1/dead_letter_pb.ts";
import { openShop } from "../delivery/shop.ts";
import type { Harness } from "../harness.ts";
import { refusalOf, startHarness } from "../harness.ts";

const ruleArn = "arn:aws:events:us-east-1:000000000000:rule/sales";
const noGroup = "0".repeat(32);

/** A shop whose till answers with a status, by default 404; each sale is then a dead letter. */
const openRefusingShop = async ({ client, app, clock }: Harness) => {
  const state = { status: 404 };
  const shop = await openShop(client, {
    answer: () => ({ status: state.status }),
    destination: { invocationRateLimitPerSecond: 100_000 },
    target: { retryPolicy: { maximumRetryAttempts: 0 } },
  });
  /** Sells, a second after the other. */
  const sell = async (count: number, status: number): Promise<void> => {
    state.status = status;
    for (let n = 0; n < count; n += 1) {
      await shop.sell({ n, status });
      await app.jobs.idle();
      clock.advance(1_000);
    }
  };
  let seen = 0;
  /** What was sold since the last call. */
  const soldNow = (): unknown[] => {
    const sold = shop.till.received.slice(seen);
    seen += sold.length;
    return sold.map(({ body }) => (JSON.parse(body.toString()) as { detail: unknown }).detail);
  };
  return { state, shop, sell, soldNow };
};

const groupsOf = async ({ client }: Harness): Promise<[cause: string, count: number][]> => {
  const { deadLetterGroups } = await client.listDeadLetterGroups({});
  return deadLetterGroups
    .map(({ cause, letterCount }): [string, number] => [cause, Number(letterCount)])
    .toSorted(([left], [right]) => left.localeCompare(right));
};

describe("listDeadLetterGroups", () => {
  test("lists the causes with their numbers, times and last letters, in pages", async () => {
    const harness = await startHarness();
    const { client, clock } = harness;
    const { sell, shop } = await openRefusingShop(harness);
    const startMs = clock.now();
    await sell(3, 404);
    await sell(2, 500);
    expect(await groupsOf(harness)).toEqual([
      ["The endpoint answered with status 404.", 3],
      ["The endpoint answered with status 500.", 2],
    ]);
    const first = await client.listDeadLetterGroups({ limit: 1 });
    const second = await client.listDeadLetterGroups({ limit: 1, nextToken: first.nextToken });
    expect(second.nextToken).toBeUndefined();
    const groups = [...first.deadLetterGroups, ...second.deadLetterGroups];
    const missing = groups.find(({ cause }) => cause.includes("404"));
    expect(missing).toMatchObject({ ruleArn, targetArn: shop.destinationArn, errorCode: "ERROR_FROM_TARGET" });
    expect(missing?.firstFailureTime && timestampMs(missing.firstFailureTime)).toBe(startMs);
    expect(missing?.lastFailureTime && timestampMs(missing.lastFailureTime)).toBe(startMs + 2_000);
    expect((JSON.parse(missing?.sample?.event ?? "") as { detail: unknown }).detail).toEqual({ n: 2, status: 404 });
    const groupId = missing?.groupId;
    const letters = await client.listDeadLetters({ groupId, limit: 2 });
    const rest = await client.listDeadLetters({ groupId, limit: 2, nextToken: letters.nextToken });
    const details = [...letters.deadLetters, ...rest.deadLetters].map(
      ({ event }) => (JSON.parse(event) as { detail: unknown }).detail,
    );
    expect(details).toEqual([
      { n: 2, status: 404 },
      { n: 1, status: 404 },
      { n: 0, status: 404 },
    ]);
    expect(rest.nextToken).toBeUndefined();
    expect(letters.deadLetters.every((letter) => letter.groupId === groupId)).toBe(true);
    expect((await client.listDeadLetterGroups({ ruleArn: `${ruleArn}x` })).deadLetterGroups).toEqual([]);
  });

  test("does not list groups whose letters were all redriven", async () => {
    const harness = await startHarness();
    const { client, app } = harness;
    const { sell, state } = await openRefusingShop(harness);
    await sell(1, 404);
    state.status = 200;
    await client.redriveDeadLetters({ ids: (await client.listDeadLetters({})).deadLetters.map(({ id }) => id) });
    await app.jobs.idle();
    expect(await groupsOf(harness)).toEqual([]);
  });
});

describe("startDeadLetterRedrive", () => {
  test("delivers the letters of one group again, in the order in which they failed", async () => {
    const harness = await startHarness();
    const { client, app } = harness;
    const { sell, state, soldNow } = await openRefusingShop(harness);
    await sell(60, 404);
    await sell(1, 500);
    soldNow();
    const { deadLetterGroups } = await client.listDeadLetterGroups({});
    const groupId = deadLetterGroups.find(({ cause }) => cause.includes("404"))?.groupId ?? "";
    state.status = 200;
    const { redrive } = await client.startDeadLetterRedrive({ redriveName: "monday", filter: { groupId } });
    expect(redrive).toMatchObject({
      redriveName: "monday",
      state: DeadLetterRedriveState.RUNNING,
      letterCount: 60n,
      redrivenCount: 0n,
      failedCount: 0n,
    });
    await app.jobs.idle();
    const sold = soldNow() as { n: number; status: number }[];
    expect(sold.map(({ n }) => n).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, n) => n));
    expect(await groupsOf(harness)).toEqual([["The endpoint answered with status 500.", 1]]);
    const described = (await client.describeDeadLetterRedrive({ redriveName: "monday" })).redrive;
    expect(described).toMatchObject({ state: DeadLetterRedriveState.COMPLETED, redrivenCount: 60n, letterCount: 60n });
    expect(described?.endTime).toBeDefined();
  });

  test("visits each letter once: those that fail again become dead letters again, later ones are not visited", async () => {
    const harness = await startHarness();
    const { client, app, clock } = harness;
    const { sell, soldNow } = await openRefusingShop(harness);
    await sell(3, 404);
    soldNow();
    // The clock was set back, so the new letters are older than those that exist.
    clock.setBack(3_600_000);
    await client.startDeadLetterRedrive({ redriveName: "monday", maxLettersPerSecond: 1 });
    await sell(1, 500);
    for (let second = 0; second < 5; second += 1) {
      clock.advance(1_000);
      await app.jobs.idle();
    }
    expect((await client.describeDeadLetterRedrive({ redriveName: "monday" })).redrive).toMatchObject({
      state: DeadLetterRedriveState.COMPLETED,
      letterCount: 3n,
      redrivenCount: 3n,
    });
    expect(soldNow()).toHaveLength(4);
    expect((await groupsOf(harness)).reduce((sum, [, count]) => sum + count, 0)).toBe(4);
  });

  test("keeps its rate, across a restart, and ends when it is cancelled", async () => {
    const first = await startHarness();
    const { clock, directory } = first;
    const shop = await openRefusingShop(first);
    await shop.sell(30, 404);
    shop.soldNow();
    shop.state.status = 200;
    await first.client.startDeadLetterRedrive({ redriveName: "slow", maxLettersPerSecond: 10 });
    const run = async ({ app }: Harness, tenths: number): Promise<number> => {
      await app.jobs.idle();
      for (let n = 0; n < tenths; n += 1) {
        clock.advance(100);
        await app.jobs.idle();
      }
      return shop.soldNow().length;
    };
    expect(await run(first, 9)).toBe(10);
    await first.stop();
    const second = await startHarness({ directory, clock });
    expect(await run(second, 10)).toBe(10);
    const { redrive } = await second.client.cancelDeadLetterRedrive({ redriveName: "slow" });
    expect(redrive).toMatchObject({ state: DeadLetterRedriveState.CANCELLED, redrivenCount: 20n, letterCount: 30n });
    expect(await run(second, 10)).toBe(0);
    expect(await groupsOf(second)).toEqual([["The endpoint answered with status 404.", 10]]);
    const states = async (state: DeadLetterRedriveState) =>
      (await second.client.listDeadLetterRedrives({ state })).deadLetterRedrives.map(({ redriveName }) => redriveName);
    expect(await states(DeadLetterRedriveState.CANCELLED)).toEqual(["slow"]);
    expect(await states(DeadLetterRedriveState.RUNNING)).toEqual([]);
  });

  test("goes on when the clock is set back", async () => {
    const harness = await startHarness();
    const { client, app, clock } = harness;
    const { sell, state, soldNow } = await openRefusingShop(harness);
    await sell(3, 404);
    soldNow();
    state.status = 200;
    await client.startDeadLetterRedrive({ redriveName: "monday", maxLettersPerSecond: 1 });
    await app.jobs.idle();
    clock.setBack(86_400_000);
    for (let second = 0; second < 4; second += 1) {
      clock.advance(1_000);
      await app.jobs.idle();
    }
    expect(soldNow()).toHaveLength(3);
  });

  test("selects letters by rule, target and error", async () => {
    const harness = await startHarness();
    const { client, app } = harness;
    const { sell, shop } = await openRefusingShop(harness);
    await sell(2, 404);
    // filter | letters
    const rows: [Record<string, string>, bigint][] = [
      [{ ruleArn: `${ruleArn}x` }, 0n],
      [{ targetArn: "arn:x" }, 0n],
      [{ errorCode: "NO_RESOURCE" }, 0n],
      [{ ruleArn, targetArn: shop.destinationArn, errorCode: "ERROR_FROM_TARGET" }, 2n],
    ];
    for (const [index, [filter, count]] of rows.entries()) {
      await client.startDeadLetterRedrive({ redriveName: `r-${index}`, filter });
      await app.jobs.idle();
      expect((await client.describeDeadLetterRedrive({ redriveName: `r-${index}` })).redrive).toMatchObject({
        letterCount: count,
        redrivenCount: count,
      });
    }
  });

  test("is refused, in this order", async () => {
    const { client } = await startHarness({ works: false, limits: { activeRedrivesMax: 1 } });
    await client.startDeadLetterRedrive({ redriveName: "monday" });
    // request | refusal
    const refuses: [Parameters<typeof client.startDeadLetterRedrive>[0], string][] = [
      [
        { redriveName: "monday", filter: { groupId: noGroup } },
        `DEAD_LETTER_GROUP_NOT_FOUND: Dead letter group ${noGroup} does not exist.`,
      ],
      [{ redriveName: "monday" }, "REDRIVE_ALREADY_EXISTS: Dead letter redrive monday already exists."],
      [{ redriveName: "tuesday" }, "LIMIT_EXCEEDED"],
    ];
    const answers = [];
    for (const [request] of refuses) answers.push(await refusalOf(client.startDeadLetterRedrive(request)));
    expect(answers).toEqual(refuses.map(([, refusal]) => refusal));
  });

  test("cannot be cancelled when it has ended or does not exist", async () => {
    const { client, clientOf, app } = await startHarness();
    await client.startDeadLetterRedrive({ redriveName: "monday" });
    await app.jobs.idle();
    expect(await refusalOf(client.cancelDeadLetterRedrive({ redriveName: "monday" }))).toBe(
      "REDRIVE_NOT_CANCELLABLE: Dead letter redrive monday is not in a valid state for this operation.",
    );
    const other = clientOf("111122223333");
    const gone = "REDRIVE_NOT_FOUND: Dead letter redrive monday does not exist.";
    expect(await refusalOf(other.cancelDeadLetterRedrive({ redriveName: "monday" }))).toBe(gone);
    expect(await refusalOf(other.describeDeadLetterRedrive({ redriveName: "monday" }))).toBe(gone);
  });
});
