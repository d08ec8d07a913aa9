import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { anyKeyNames } from "../../../services/kit/keyring/key-names.ts";
import { openKeyring } from "../../../services/kit/keyring/keyring.ts";
import { addMasterKey } from "../../../services/kit/keyring/master-keys.ts";
import { startRewrapping } from "../../../services/kit/keyring/rewrapping.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

/** Data keys in memory, by place. */
const startWith = async (places: readonly string[], failingCompaction = 0) => {
  const path = join(await temporaryDirectory(), "master.keys");
  const clock = new FakeClock();
  const keyring = await openKeyring({ path, names: anyKeyNames, clock, sample: undefined });
  const dataKeys = new Map(places.map((place) => [place, keyring.createDataKey("crm", [place])]));
  const wrapped = new Map([...dataKeys].map(([place, each]) => [place, each.wrapped]));
  const lines: string[] = [];
  const note = (facts: { count?: number; failed?: number }, message: string) =>
    lines.push(`${message}${facts.count === undefined ? "" : `: ${facts.count}, failed ${facts.failed}`}`);
  let compactions = 0;
  const stop = startRewrapping({
    keyring,
    clock,
    log: { info: note, error: note } as never,
    keys: {
      listStale: async () => [...wrapped].filter(([, each]) => keyring.isStale(each)).map(([place]) => place),
      rewrap: async (place) => {
        wrapped.set(place, keyring.rewrap([place], wrapped.get(place) ?? Buffer.alloc(0)));
      },
      compact: async () => {
        compactions += 1;
        if (compactions === failingCompaction) throw new Error("the disk is away");
      },
    },
  });
  onTestFinished(stop);
  const staleCount = () => [...wrapped.values()].filter((each) => keyring.isStale(each)).length;
  return { path, clock, keyring, dataKeys, wrapped, lines, staleCount, compactions: () => compactions };
};

test("what older master keys wrap is wrapped again within a minute of a rotation", async () => {
  const { path, clock, keyring, dataKeys, wrapped, lines, staleCount, compactions } = await startWith(["a", "b"]);
  await addMasterKey(path);
  clock.advance(1_000);
  expect(staleCount()).toBe(2);
  await eventually(async () => {
    clock.advance(60_000);
    return compactions() === 1;
  }, "the keys were wrapped again");
  expect(staleCount()).toBe(0);
  expect([...wrapped].map(([place, each]) => keyring.openDataKey([place], each).export())).toEqual(
    [...dataKeys.values()].map(({ key }) => key.export()),
  );
  expect(lines).toEqual(["data keys were rewrapped: 2, failed 0"]);
});

test("one that cannot be opened does not keep the others back, and is tried again", async () => {
  const { path, clock, wrapped, lines, staleCount } = await startWith(["a", "b"]);
  const whole = wrapped.get("a") ?? Buffer.alloc(0);
  wrapped.set("a", Buffer.concat([whole.subarray(0, -1), Buffer.of((whole.at(-1) ?? 0) ^ 1)]));
  await addMasterKey(path);
  await eventually(async () => {
    clock.advance(60_000);
    return lines.includes("data keys were rewrapped: 1, failed 1");
  }, "one was wrapped anew");
  expect(staleCount()).toBe(1);
  expect(lines[0]).toBe("a data key could not be rewrapped; it is tried again in a minute");
  wrapped.set("a", whole);
  await eventually(async () => {
    clock.advance(60_000);
    return staleCount() === 0;
  }, "the other was wrapped again");
});

test("a compaction that failed is done again, and without a rotation there is none", async () => {
  const { path, clock, lines, compactions } = await startWith(["a"], 1);
  clock.advance(60_000);
  await eventually(() => compactions() === 0, "nothing was compacted");
  await addMasterKey(path);
  await eventually(async () => {
    clock.advance(60_000);
    return compactions() === 2;
  }, "the files were compacted again");
  expect(lines).toEqual(["a periodic task failed; it runs again after the interval"]);
});
