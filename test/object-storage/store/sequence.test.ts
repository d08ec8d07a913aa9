import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import type { Store } from "../../../services/kit/store/store.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { sequenceCeilings } from "../../../services/object-storage/store/layout.ts";
import { openSequences } from "../../../services/object-storage/store/sequence.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const open = async (directory: string): Promise<Store> => {
  const store = await openStore({ directory: join(directory, "leveldb"), sync: false });
  onTestFinished(() => store.close());
  return store;
};

describe("sequences", () => {
  test("follow the clock, and grow while it stands and when it goes back", async () => {
    const clock = new FakeClock(1_000);
    const store = await open(await temporaryDirectory());
    const sequences = await openSequences(store, clock);
    const next = (above?: number) => store.transact((transaction) => sequences.next(transaction, above));
    expect([await next(), await next()]).toEqual([1_000_000, 1_000_100]);
    clock.set(500);
    expect(await next()).toBe(1_000_200);
    clock.set(2_000);
    expect(await next()).toBe(2_000_000);
    expect(await next(7_000_000)).toBe(7_000_100);
  });

  test("are greater after a restart than all that were given before it, although the clock went back", async () => {
    const clock = new FakeClock(1_000);
    const directory = await temporaryDirectory();
    const first = await open(directory);
    const sequences = await openSequences(first, clock);
    const given: number[] = [];
    for (let round = 0; round < 30; round += 1) {
      given.push(await first.transact((transaction) => sequences.next(transaction)));
      clock.advance(999);
    }
    await first.close();
    clock.set(1_000);

    const second = await open(directory);
    const resumed = await openSequences(second, clock);
    const after = await second.transact((transaction) => resumed.next(transaction));

    expect(given.at(-1)).toBe(29_971_000);
    expect(after).toBeGreaterThan(29_971_000);
  });

  test("of two regions are never the same, also where each goes on after those of the other", async () => {
    const given = new Map<number, string>();
    const regions = await Promise.all(
      ["us-east-1", "us-west-2"].map(async (region) => {
        const store = await open(await temporaryDirectory());
        const sequences = await openSequences(store, new FakeClock(1_000), { region });
        return {
          region,
          next: (above: number) => store.transact((transaction) => sequences.next(transaction, above)),
        };
      }),
    );
    let last = 0;
    for (let round = 0; round < 50; round += 1)
      for (const { region, next } of regions) {
        last = await next(last);
        expect(given.get(last)).toBe(undefined);
        given.set(last, region);
        given.set(await next(0), region);
      }
    expect(given.size).toBe(200);
  });

  test("are all different when many transactions ask at once for the first ones", async () => {
    const store = await open(await temporaryDirectory());
    const sequences = await openSequences(store, new FakeClock(1_000));
    const given = await Promise.all(
      Array.from({ length: 50 }, () => store.transact((transaction) => sequences.next(transaction))),
    );
    expect(new Set(given).size).toBe(50);
  });

  test("go on after those that were given where their ceiling is damaged, which is logged", async () => {
    const directory = await temporaryDirectory();
    const clock = new FakeClock(1_000);
    const first = await open(directory);
    const sequences = await openSequences(first, clock);
    expect(await first.transact((transaction) => sequences.next(transaction))).toBe(1_000_000);
    await first.close();
    await damageStoredRecord(directory, sequenceCeilings, ["sequences"]);
    const second = await open(directory);
    const { log, lines } = capturingLogger();
    const resumed = await openSequences(second, clock, { log });
    expect(await second.transact((transaction) => resumed.next(transaction))).toBe(2_000_000);
    expect(await second.transact((transaction) => resumed.next(transaction, 20_000_000))).toBe(20_000_100);
    expect(lines.map(({ msg }) => msg)).toEqual([
      "the ceiling of sequences is damaged; they go on after those of the clock",
    ]);
    const ceiling = await second.read((reader) => reader.get(sequenceCeilings, ["sequences"]));
    expect(ceiling?.ceiling).toBe(21_000_100n);
  });
});
