import { expect, test } from "vitest";

import { erasedKeys, expiries, profiles, profileSeeds } from "../../../services/customer-profile/store/layout.ts";
import { removeExpired } from "../../../services/customer-profile/work/expiry.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
import { countsOf } from "../database.ts";
import { startHarness } from "../harness.ts";
import { eventually } from "../../support/eventually.ts";

const dayMs = 24 * 60 * 60 * 1000;
const minuteMs = 60 * 1000;
const visits = {
  allowProfileCreation: true,
  expirationDays: 1,
  fields: { person: { source: "_source.person", target: "_profile.FirstName" } },
  keys: { person: { items: [{ standardIdentifiers: ["UNIQUE", "PROFILE"] }] } },
};

test("expired profiles are removed with all that refers to them, and leave the statistics", async () => {
  const { client, clock, store } = await startHarness();
  await client.createDomain({ domainName: "short", defaultExpirationDays: 1 });
  await client.createDomain({ domainName: "long", defaultExpirationDays: 30 });
  for (let index = 0; index < 120; index += 1)
    await client.createProfile({ domainName: "short", accountNumber: `${index}`, phoneNumber: "112" });
  await client.createProfile({ domainName: "long", accountNumber: "A" });
  clock.advance(dayMs);
  await eventually(async () => (await countsOf(store))["profiles"] === 1, "the expired profiles are removed");
  expect(await countsOf(store)).toMatchObject({
    profile_seeds: 1,
    profiles: 1,
    search_keys: 1,
    expiries: 1,
  });
  expect((await client.getDomain({ domainName: "short" })).stats).toMatchObject({ profileCount: 0n, totalSize: 0n });
  expect((await client.getDomain({ domainName: "long" })).stats?.profileCount).toBe(1n);
});

test("what has expired of domains is removed in turns, however early the others' data has expired", async () => {
  const { app, client, clock, store } = await startHarness({ works: false });
  await client.createDomain({ domainName: "large", defaultExpirationDays: 1 });
  await client.createDomain({ domainName: "small", defaultExpirationDays: 1 });
  for (let index = 0; index < 120; index += 1)
    await client.createProfile({ domainName: "large", accountNumber: `${index}` });
  clock.advance(1_000);
  await client.createProfile({ domainName: "small", accountNumber: "A" });
  clock.advance(dayMs);
  const leftOf = async (domainName: string) => (await client.getDomain({ domainName })).stats?.profileCount;
  const left: (bigint | undefined)[] = [];
  const ending = new AbortController();
  const { compaction } = app;
  // The pass over all that has expired ends with a read of nothing.
  const read: typeof store.read = async (run) => {
    const found = await store.read(run);
    if (left.length === 0 && (await leftOf("small")) === 0n) {
      left.push(await leftOf("large"));
      ending.abort();
    }
    return found;
  };
  const watched = { read, transact: store.transact.bind(store) } as typeof store;
  const options = { clock, compaction, keyring: app.keyring, log: silentLogger, turn: 10 };
  expect(await removeExpired({ ...options, store: watched }, ending.signal)).toBe(11);
  expect(left).toEqual([110n]);
  expect(await removeExpired({ ...options, store })).toBe(110);
});

test("an expiry that is damaged keeps no other from being found", async () => {
  const first = await startHarness({ works: false });
  await first.client.createDomain({ domainName: "shop", defaultExpirationDays: 1 });
  for (const accountNumber of ["A", "B", "C"])
    await first.client.createProfile({ domainName: "shop", accountNumber, phoneNumber: "112" });
  const found = await first.store.read((reader) => reader.list(expiries, { limit: 3 }));
  await first.stop();
  await damageStoredRecord(first.directory, expiries, found[1]!.key);
  const { log, lines } = capturingLogger();
  const { app, clock, store } = await startHarness({ works: false, directory: first.directory, clock: first.clock });
  clock.advance(dayMs);
  expect(await removeExpired({ store, clock, compaction: app.compaction, keyring: app.keyring, log })).toBe(2);
  expect(await store.read((reader) => reader.list(profiles, { limit: 3 }))).toHaveLength(1);
  expect(lines).toMatchObject([{ msg: "what has expired cannot be removed: a record of it is damaged" }]);
});

test("a profile that is damaged keeps nothing else from being removed", async () => {
  const { app, client, clock, store } = await startHarness({ works: false });
  const { log, lines } = capturingLogger();
  await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
  await client.putProfileObjectType({ domainName: "shop", objectTypeName: "visit", description: "d", ...visits });
  for (const person of ["ann", "ben", "eve"])
    await client.putProfileObject({ domainName: "shop", objectTypeName: "visit", object: JSON.stringify({ person }) });
  const [damaged] = (await client.searchProfiles({ domainName: "shop", keyName: "person", values: ["ben"] })).items;
  const id = new Uint8Array(Buffer.from(damaged?.profileId ?? "", "hex"));
  await store.transact(async (transaction) => {
    const [seed] = (await transaction.list(profileSeeds, { limit: 3 })).filter(
      ({ key }) => Buffer.compare(key[1], id) === 0,
    );
    if (seed !== undefined) transaction.put(profileSeeds, seed.key, { seed: new Uint8Array(32) });
  });
  const { compaction, keyring } = app;
  const removed = () => removeExpired({ store, clock, compaction, keyring, log });
  clock.advance(dayMs);
  expect(await removed()).toBe(2);
  expect(await countsOf(store)).toMatchObject({ objects: 1, object_expiries: 1, profiles: 3 });
  expect(lines).toMatchObject([{ msg: "what has expired cannot be removed: a record of it is damaged" }]);
  clock.advance(30 * dayMs);
  expect(await removed()).toBe(3);
  expect(await countsOf(store)).not.toHaveProperty("profiles");
});

test("the key of an expired profile that an object has removed leaves the files, too", async () => {
  const { app, client, clock, store } = await startHarness({ works: false });
  await client.createDomain({ domainName: "shop", defaultExpirationDays: 1 });
  const type = { domainName: "shop", objectTypeName: "visit", description: "d", ...visits };
  await client.putProfileObjectType(type);
  const put = () =>
    client.putProfileObject({ domainName: "shop", objectTypeName: "visit", object: JSON.stringify({ person: "ann" }) });
  await put();
  clock.advance(dayMs);
  await put();
  const erased = () => store.read((reader) => reader.list(erasedKeys, { limit: 2 }));
  expect(await erased()).toHaveLength(1);
  const { compaction, keyring } = app;
  expect(await removeExpired({ store, clock, compaction, keyring, log: silentLogger })).toBe(0);
  clock.advance(minuteMs);
  await eventually(async () => (await erased()).length === 0, "the key is compacted away");
});
