import { onTestFinished, expect, test } from "vitest";

import { idText } from "../../../services/customer-profile/domain/identifier.ts";
import {
  holdersTogetherMax,
  listProfilesWithKey,
  replaceKeys,
} from "../../../services/customer-profile/store/key-index.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { countsOf } from "../database.ts";

const domainId = new Uint8Array(16).fill(7);
const digest = new Uint8Array(32).fill(11);
const profile = (number: number): Uint8Array => new Uint8Array(16).fill(number);
const numbers = (count: number): number[] => Array.from({ length: count }, (_none, index) => index + 1);

const start = async () => {
  const store = await openStore({ directory: await temporaryDirectory(), sync: false });
  onTestFinished(() => store.close());
  return {
    store,
    add: (number: number) =>
      store.transact((transaction) => replaceKeys(transaction, domainId, profile(number), [], [digest])),
    remove: (number: number) =>
      store.transact((transaction) => replaceKeys(transaction, domainId, profile(number), [digest], [])),
    found: async (after?: number, limit = 100): Promise<number[]> => {
      const ids = await store.read((reader) =>
        listProfilesWithKey(reader, domainId, digest, after === undefined ? undefined : profile(after), limit),
      );
      return ids.map((id) => Number.parseInt(idText(id).slice(0, 2), 16));
    },
  };
};

test("the profiles of a key are in one record as long as they are few, then each in one of its own", async () => {
  const { store, add, found } = await start();
  for (const number of numbers(holdersTogetherMax).toReversed()) await add(number);
  expect(await countsOf(store)).toEqual({ search_keys: 1 });
  expect(await found()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  await add(9);
  expect(await countsOf(store)).toEqual({ search_keys: 1, key_holders: 9 });
  expect(await found()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test.each([
  ["few", 5],
  ["many", 12],
])("a page of %s profiles begins after the given one and is as long as asked for", async (_what, count) => {
  const { add, found } = await start();
  for (const number of numbers(count)) await add(number);
  expect(await found(2, 2)).toEqual([3, 4]);
  expect(await found(count)).toEqual([]);
});

test.each([
  ["few", 5],
  ["many", 12],
])("the last of %s profiles leaves nothing", async (_what, count) => {
  const { store, add, remove } = await start();
  for (const number of numbers(count)) await add(number);
  for (const number of numbers(count)) await remove(number);
  expect(await countsOf(store)).toEqual({});
});

test.each([
  ["few", 1],
  ["many", 10],
])("of %s profiles, one has a key until its last origin is gone", async (_what, count) => {
  const { add, remove, found } = await start();
  for (const number of numbers(count)) await add(number);
  await add(1);
  await remove(1);
  expect((await found())[0]).toBe(1);
  await remove(1);
  expect(await found()).toEqual(numbers(count).slice(1));
});

test.each([
  ["in the order of their identifiers", (ids: number[]) => ids],
  ["the last first", (ids: number[]) => ids.toReversed()],
])("few of the removals of many profiles, %s, look for other profiles", async (_what, ordered) => {
  const { store, add } = await start();
  for (const number of numbers(100)) await add(number);
  let lookedFor = 0;
  for (const number of ordered(numbers(100)))
    await store.transact((transaction) => {
      const list = transaction.list.bind(transaction);
      transaction.list = (table, range) => {
        lookedFor += 1;
        return list(table, range);
      };
      return replaceKeys(transaction, domainId, profile(number), [digest], []);
    });
  expect(lookedFor).toBeLessThan(20);
  expect(await countsOf(store)).toEqual({});
});

test("additions and removals at the same time lose nothing and leave nothing", async () => {
  const { store, add, remove, found } = await start();
  await Promise.all(numbers(20).map(add));
  expect(await found()).toEqual(numbers(20));
  await Promise.all([...numbers(20).map(remove), ...numbers(9).map((number) => add(100 + number))]);
  expect(await found()).toEqual(numbers(9).map((number) => 100 + number));
  await Promise.all(numbers(9).map((number) => remove(100 + number)));
  expect(await countsOf(store)).toEqual({});
});
