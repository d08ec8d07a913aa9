import { expect, onTestFinished, test } from "vitest";

import { countBuses, createBus, deleteBus, putBus } from "../../../services/event-bus/store/bus.ts";
import { countConnections, createConnection, deleteConnection } from "../../../services/event-bus/store/connection.ts";
import {
  countApiDestinations,
  deleteApiDestination,
  putApiDestination,
} from "../../../services/event-bus/store/api-destination.ts";
import { defaultLimits, storeOver } from "../../../services/kit/store/store.ts";
import { countingEngine } from "../../kit/store/counting-engine.ts";

const account = "000000000000";

/** Counts and changes the buses, connections and API destinations of the account. */
const kinds = [
  {
    kind: "buses",
    count: countBuses,
    create: createBus,
    remove: (transaction: Parameters<typeof deleteBus>[0], name: string) => deleteBus(transaction, { account, name }),
  },
  {
    kind: "connections",
    count: countConnections,
    create: createConnection,
    remove: (transaction: Parameters<typeof deleteConnection>[0], name: string) =>
      deleteConnection(transaction, account, name),
  },
  {
    kind: "API destinations",
    count: countApiDestinations,
    create: (transaction: Parameters<typeof putApiDestination>[0], of: string, record: { readonly name: string }) =>
      putApiDestination(transaction, of, { ...record, connectionArn: "arn:aws:events:c" }),
    remove: (transaction: Parameters<typeof deleteApiDestination>[0], name: string) =>
      deleteApiDestination(transaction, account, name),
  },
];

const openStore = () => {
  const { engine, scanned } = countingEngine();
  const store = storeOver(engine, defaultLimits);
  onTestFinished(() => store.close());
  return { store, scanned };
};

test.each(kinds)("$kind are counted without reading them", async ({ count, create, remove }) => {
  const { store, scanned } = openStore();
  const scans: number[] = [];
  for (let n = 0; n < 30; n += 1) {
    const before = scanned();
    await store.transact(async (transaction) => {
      await count(transaction, account);
      await create(transaction, account, { name: `n-${n}` });
    });
    scans.push(scanned() - before);
  }
  expect(scans).toEqual(Array(30).fill(0));
  await store.transact((transaction) => remove(transaction, "n-3"));
  expect(await store.read((reader) => count(reader, account))).toBe(29);
  expect(await store.read((reader) => count(reader, "111111111111"))).toBe(0);
});

test("records that were put before they were counted are read once", async () => {
  const { store } = openStore();
  await store.transact((transaction) => {
    for (const name of ["a", "b", "c"]) putBus(transaction, account, { name });
  });
  await store.transact((transaction) => createBus(transaction, account, { name: "d" }));
  expect(await store.read((reader) => countBuses(reader, account))).toBe(4);
});

test("an API destination that is replaced is counted once", async () => {
  const { store } = openStore();
  const destination = { name: "till", connectionArn: "arn:aws:events:c" };
  await store.transact((transaction) => putApiDestination(transaction, account, destination));
  await store.transact((transaction) => putApiDestination(transaction, account, destination));
  expect(await store.read((reader) => countApiDestinations(reader, account))).toBe(1);
});
