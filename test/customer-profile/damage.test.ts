import { expect, test } from "vitest";

import { idBytes, idText } from "../../services/customer-profile/domain/identifier.ts";
import { domainKeys, erasedKeys, profileSeeds } from "../../services/customer-profile/store/layout.ts";
import { wrappedDomainKeys } from "../../services/customer-profile/work/domain-key-rewrap.ts";
import { damageStoredRecord } from "../support/damaged-record.ts";
import { refusalOf, startHarness } from "./harness.ts";
import { startImports } from "./work/flow/imports.ts";

test("a domain whose key is damaged keeps neither the service from starting nor the keys of others from rewrapping", async () => {
  const first = await startHarness();
  for (const domainName of ["shop", "club"]) await first.client.createDomain({ domainName, defaultExpirationDays: 30 });
  const keys = await first.store.read((reader) => reader.list(domainKeys, { limit: 2 }));
  await first.stop();
  await damageStoredRecord(first.directory, domainKeys, keys[0]!.key);

  const { client, app, store } = await startHarness({ directory: first.directory, clock: first.clock });
  const outcomes = await Promise.all(
    ["shop", "club"].map((domainName) => refusalOf(client.createProfile({ domainName, firstName: "Ann" }))),
  );
  expect(outcomes.toSorted()).toEqual(["DATA_LOSS", "answered"]);
  const stale = await wrappedDomainKeys(store, app.keyring).listStale();
  expect(stale.map(idText)).toEqual([idText(keys[0]!.key[0])]);
});

test("an erased key of which the record is damaged is compacted away as the others are", async () => {
  const first = await startHarness();
  const { client } = first;
  await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
  for (let count = 0; count < 3; count += 1) {
    const { profileId } = await client.createProfile({ domainName: "shop", firstName: "Ann" });
    await client.deleteProfile({ domainName: "shop", profileId });
  }
  const erased = await first.store.read((reader) => reader.list(erasedKeys, { limit: 3 }));
  await first.stop();
  await damageStoredRecord(first.directory, erasedKeys, erased[1]!.key);

  const { app, store } = await startHarness({ directory: first.directory, clock: first.clock });
  await app.compaction.run();
  expect(await store.read((reader) => reader.list(erasedKeys, { limit: 3 }))).toEqual([]);
});

test("a record of a flow whose profile is damaged fails, and the others are put", async () => {
  const { put, putFlow, flows, mailsOf, client, store } = await startImports();
  await put("a.csv", "id,mail\n1,a@x.org\n2,b@x.org\n3,c@x.org\n");
  await putFlow();
  const [found] = (await client.searchProfiles({ domainName: "shop", keyName: "id", values: ["2"] })).items;
  const id = idBytes(found?.profileId ?? "");
  await store.transact(async (transaction) => {
    const seeds = await transaction.list(profileSeeds, { limit: 3 });
    for (const { key } of seeds)
      if (idText(key[1]) === idText(id)) transaction.put(profileSeeds, key, { seed: new Uint8Array(32) });
  });
  await put("a.csv", "id,mail\n1,d@x.org\n2,e@x.org\n3,f@x.org\n");
  await putFlow();
  expect(await mailsOf("1", "3")).toEqual(["d@x.org", "f@x.org"]);
  const last = { ingestedRecords: 2, failedRecords: 1, firstProblem: "Stored data cannot be read" };
  expect(await flows()).toMatchObject([{ state: "OVER", last }]);
});
