import { join } from "node:path";

import { create } from "@bufbuild/protobuf";
import { expect, onTestFinished, test } from "vitest";

import { EventRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Keyring } from "../../../services/kit/keyring/keyring.ts";
import type { Store } from "../../../services/kit/store/store.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import type { KeyTuple, Table } from "../../../services/kit/store/table.ts";
import { defaultLimits } from "../../../services/event-bus/limits.ts";
import { putDeadLetter } from "../../../services/event-bus/store/dead-letter.ts";
import { putEvent } from "../../../services/event-bus/store/event.ts";
import {
  connections,
  deadLetters,
  deduplications,
  eventHolders,
  eventKeys,
  events,
} from "../../../services/event-bus/store/layout.ts";
import { wrappedSecretKeys } from "../../../services/event-bus/work/connection-rewrap.ts";
import { wrappedEventKeys } from "../../../services/event-bus/work/event-key-rewrap.ts";
import { deduplicationSweep, sweepDeadLetters, sweepLog } from "../../../services/event-bus/work/log-sweep.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const going = new AbortController().signal;
const [alice, bob] = ["111111111111", "222222222222"] as const;

/** A store in which some records are damaged after they were written. */
const startDamaged = async (
  write: (store: Store) => Promise<unknown>,
  damaged: readonly { readonly table: Table; readonly key: KeyTuple }[],
) => {
  const directory = await temporaryDirectory();
  const open = () => openStore({ directory: join(directory, "leveldb"), sync: false });
  const first = await open();
  await write(first);
  await first.close();
  for (const { table, key } of damaged) await damageStoredRecord(directory, table, key);
  const store = await open();
  onTestFinished(() => store.close());
  const clock = new FakeClock(1_000_000_000);
  return { store, clock, limits: { ...defaultLimits, eventLogMs: 1_000, deadLetterMs: 1_000 } };
};

const at = (table: unknown, ...key: (string | number)[]) => ({ table: table as Table, key });

const keysIn = (store: Store, table: unknown): Promise<KeyTuple[]> =>
  store.read(async (reader) => (await reader.list(table as Table, { limit: 10 })).map(({ key }) => key));

test("damaged events and holders keep no account's log from being swept", async () => {
  const sweeping = await startDamaged(
    (store) =>
      store.transact((transaction) => {
        for (const account of [alice, bob])
          for (const eventId of ["e1", "e2", "e3"])
            putEvent(
              transaction,
              { account, ingestedMs: 5, eventId },
              { id: eventId },
              eventId === "e3" ? ["a:1"] : [],
            );
      }),
    [at(events, alice, 5, "e1"), at(eventHolders, alice, 5, "e3", "a:1")],
  );
  await sweepLog(sweeping, going);
  expect(await keysIn(sweeping.store, events)).toEqual([
    [alice, 5, "e3"],
    [bob, 5, "e3"],
  ]);
});

test("a damaged dead letter is deleted after its time with those of all accounts", async () => {
  const failure = { targetArn: "arn:x", errorCode: "ERROR_FROM_TARGET", errorMessage: "no" };
  const letter = (id: string) => ({ ...failure, event: create(EventRecordSchema, { id }) });
  const written: KeyTuple[] = [];
  const write = async (store: Store) => {
    await store.transact((transaction) => {
      for (const account of [alice, bob])
        for (const random of ["r1", "r2"])
          putDeadLetter(transaction, account, { failedMs: 5, random, epoch: 0 }, letter(random));
    });
    written.push(...(await keysIn(store, deadLetters)));
  };
  const sweeping = await startDamaged(write, [at(deadLetters, alice, 5, "r1")]);
  expect(written).toHaveLength(4);
  await sweepDeadLetters(sweeping, going);
  expect(await keysIn(sweeping.store, deadLetters)).toEqual([]);
});

test("a damaged deduplication id is deleted after its time with the others", async () => {
  const ids = ["a", "b", "c"];
  const sweeping = await startDamaged(
    (store) =>
      store.transact((transaction) => {
        for (const id of ids) transaction.put(deduplications, [1, alice, "default", alice, id], {});
      }),
    [at(deduplications, 1, alice, "default", alice, "b")],
  );
  await deduplicationSweep(sweeping)(going);
  expect(await keysIn(sweeping.store, deduplications)).toEqual([]);
});

test("damaged keys of connections and events count as stale, so that all others are rewrapped", async () => {
  const { store } = await startDamaged(
    (opened) =>
      opened.transact((transaction) => {
        for (const name of ["a", "b"]) {
          transaction.put(connections, [alice, name], { name });
          transaction.put(eventKeys, [alice, name], {});
        }
      }),
    [at(connections, alice, "a"), at(eventKeys, alice, "a")],
  );
  const keyring = { isStale: () => true } as unknown as Keyring;
  expect(await wrappedSecretKeys(store, keyring).listStale()).toEqual([[alice, "a"]]);
  expect(await wrappedEventKeys(store, keyring).listStale()).toEqual([
    [alice, "a"],
    [alice, "b"],
  ]);
});
