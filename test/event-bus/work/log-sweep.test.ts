import { describe, expect, test } from "vitest";

import { listGroups } from "../../../services/event-bus/store/dead-letter-group.ts";
import { putDeadLetter } from "../../../services/event-bus/store/dead-letter.ts";
import { putEvent } from "../../../services/event-bus/store/event.ts";
import { counts, deadLetterGroups, deadLetters, events } from "../../../services/event-bus/store/layout.ts";
import { sweepDeadLetterGroups, sweepDeadLetters, sweepLog } from "../../../services/event-bus/work/log-sweep.ts";
import { openShop } from "../delivery/shop.ts";
import { ownerAccount, startHarness } from "../harness.ts";

/** The cause of a dead letter. */
const refused = { targetArn: "arn:x", errorCode: "ERROR_FROM_TARGET", errorMessage: "no" };

describe("the log", () => {
  test("keeps an event while a delivery needs it and for its own time, and no longer", async () => {
    const { client, app, clock, store } = await startHarness({ limits: { eventLogMs: 60_000, deadLetterMs: 500_000 } });
    let isOpen = false;
    const shop = await openShop(client, { answer: () => ({ status: isOpen ? 200 : 503 }) });
    const count = async (): Promise<number> =>
      (await store.read((reader) => reader.list(events, { prefix: [ownerAccount], limit: 10 }))).length;
    await shop.sell({ n: 1 });
    await client.putEvents({ entries: [{ source: "elsewhere", detailType: "x", detail: "{}" }] });
    await app.jobs.idle();
    expect(await count()).toBe(2);
    clock.advance(120_000);
    await app.jobs.idle();
    await sweepLog(app, new AbortController().signal);
    expect(await count()).toBe(1);
    isOpen = true;
    clock.advance(600_000);
    await app.jobs.idle();
    expect(await count()).toBe(0);
  });
});

describe("the sweep", () => {
  test("gets past many events of one instant that are held, to those behind them that nothing holds", async () => {
    const harness = await startHarness({ works: false, limits: { eventLogMs: 60_000 } });
    const { store, clock, app } = harness;
    const takenMs = clock.now();
    await store.transact((transaction) => {
      for (let n = 0; n < 1_100; n += 1)
        putEvent(
          transaction,
          { account: ownerAccount, ingestedMs: takenMs, eventId: `e${String(n).padStart(4, "0")}` },
          { id: `e${n}` },
          n < 700 ? ["archive:1"] : [],
        );
    });
    clock.advance(120_000);
    await sweepLog(app, new AbortController().signal);
    const left = await store.read((reader) => reader.list(events, { prefix: [ownerAccount], limit: 2_000 }));
    expect([left.length, left.at(-1)?.key[2]]).toEqual([700, "e0699"]);
  });

  // Three events of each millisecond, of which the sweep's steps of 500 end inside one: 500 = 166 * 3 + 2. Every second
  // event is held, so held and unheld ones alternate, also on both sides of the end of a step.
  test("deletes exactly the events that nothing holds, also where a step ends inside a millisecond", async () => {
    const { store, clock, app } = await startHarness({ works: false, limits: { eventLogMs: 60_000 } });
    const startMs = clock.now();
    await store.transact((transaction) => {
      for (let n = 0; n < 1_600; n += 1)
        putEvent(
          transaction,
          { account: ownerAccount, ingestedMs: startMs + Math.floor(n / 3), eventId: `e${n}` },
          { id: `e${n}` },
          n % 2 === 0 ? ["archive:1", "delivery:1"] : [],
        );
      putEvent(transaction, { account: "111111111111", ingestedMs: startMs, eventId: "other" }, {}, ["archive:1"]);
    });
    clock.advance(120_000);
    await sweepLog(app, new AbortController().signal);
    const left = await store.read((reader) => reader.list(events, { limit: 2_000 }));
    const numbers = left.filter(({ key }) => key[0] === ownerAccount).map(({ value }) => Number(value.id.slice(1)));
    expect(numbers.length).toBe(800);
    expect(numbers.filter((number) => number % 2 === 1)).toEqual([]);
    expect(left.at(-1)?.key).toEqual(["111111111111", startMs, "other"]);
  });

  test("gets past events with more holders than a step reads", async () => {
    const { store, clock, app } = await startHarness({ works: false, limits: { eventLogMs: 60_000 } });
    const ingestedMs = clock.now();
    const holders = Array.from({ length: 2_500 }, (_, n) => `delivery:${n}`);
    await store.transact((transaction) => {
      for (const eventId of ["a", "b", "c", "d", "e", "f"])
        putEvent(
          transaction,
          { account: ownerAccount, ingestedMs, eventId },
          {},
          "ace".includes(eventId) ? holders : [],
        );
    });
    clock.advance(120_000);
    await sweepLog(app, new AbortController().signal);
    const left = await store.read((reader) => reader.list(events, { limit: 10 }));
    expect(left.map(({ key }) => key[2])).toEqual(["a", "c", "e"]);
  });

  test("deletes the dead letters of every account after their time, however many there are", async () => {
    const { store, clock, app } = await startHarness({ works: false, limits: { deadLetterMs: 60_000 } });
    const accounts = [ownerAccount, "111111111111", "222222222222"];
    const startMs = clock.now();
    await store.transact((transaction) => {
      for (const account of accounts)
        for (let n = 0; n < 600; n += 1)
          putDeadLetter(transaction, account, { failedMs: startMs, random: `old-${n}`, epoch: 0 }, refused);
    });
    clock.advance(60_001);
    await store.transact((transaction) =>
      putDeadLetter(transaction, "111111111111", { failedMs: startMs + 1, random: "new", epoch: 0 }, refused),
    );
    await sweepDeadLetters(app, new AbortController().signal);
    const left = await store.read((reader) => reader.list(deadLetters, { limit: 2_000 }));
    expect(left.map(({ key }) => key)).toEqual([["111111111111", startMs + 1, "new"]]);
    const filter = { errorCode: "ERROR_FROM_TARGET" };
    const first = { after: undefined, limit: 10 };
    const groups = () =>
      store.read(async (reader) => [
        ...(await listGroups(reader, ownerAccount, filter, first)),
        ...(await listGroups(reader, "111111111111", filter, first)),
      ]);
    expect((await groups()).map(({ count, last }) => [count, last.id])).toEqual([[1, `${startMs + 1}-new`]]);
    expect(await store.read((reader) => reader.list(deadLetterGroups, { limit: 10 }))).toHaveLength(3);
    await sweepDeadLetterGroups(app, new AbortController().signal);
    const kept = await store.read((reader) => reader.list(deadLetterGroups, { limit: 10 }));
    expect(kept.map(({ key }) => key[0])).toEqual(["111111111111"]);
    const counted = await store.read((reader) =>
      reader.list(counts, { prefix: ["dead-letters/"], textPrefix: true, limit: 10 }),
    );
    expect(counted.map(({ value }) => value.value)).toEqual([1n]);
  });

  test("deletes redrives when they have ended for as long as dead letters are kept", async () => {
    const { client, clock, app } = await startHarness({ limits: { deadLetterMs: 60_000 } });
    await client.startDeadLetterRedrive({ redriveName: "monday" });
    await app.jobs.idle();
    const names = async () =>
      (await client.listDeadLetterRedrives({})).deadLetterRedrives.map((each) => each.redriveName);
    clock.advance(60_000);
    await sweepDeadLetterGroups(app, new AbortController().signal);
    expect(await names()).toEqual(["monday"]);
    clock.advance(1);
    await sweepDeadLetterGroups(app, new AbortController().signal);
    expect(await names()).toEqual([]);
  });
});
