import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { idText } from "../../services/customer-profile/domain/identifier.ts";
import { domainKeys, erasedKeys, profileSeeds } from "../../services/customer-profile/store/layout.ts";
import { eventually } from "../support/eventually.ts";
import { bytesOfFiles, countsOf, rowsOf } from "./database.ts";
import { startHarness } from "./harness.ts";

/** Texts that occur nowhere else, in each kind of member. */
const words = [
  "Zebedea",
  "Quillfeather",
  "zq.mail",
  "5557391846",
  "Xanthopolis",
  "Attrib-name-77",
  "Attrib-value-78",
  "Loyal-79",
];
const ann = {
  domainName: "shop",
  firstName: "Zebedea",
  lastName: "Quillfeather",
  emailAddress: "zq.mail@example.com",
  phoneNumber: "5557391846",
  address: { city: "Xanthopolis" },
  attributes: { "Attrib-name-77": "Attrib-value-78" },
};

const startWithAnn = async () => {
  const harness = await startHarness({ works: false });
  const { client } = harness;
  await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
  const { profileId } = await client.createProfile(ann);
  await client.addProfileKey({ domainName: "shop", profileId, keyName: "loyalty", values: ["Loyal-79"] });
  return { ...harness, profileId };
};

describe("personal data", () => {
  test("stands in no key and no value of the database, whatever its case", async () => {
    const { store } = await startWithAnn();
    const rows = await rowsOf(store);
    expect(rows.length).toBeGreaterThan(10);
    const text = rows
      .map(({ keyBytes, valueBytes }) => `${keyBytes.toString("latin1")}${valueBytes.toString("latin1")}`)
      .join("\n")
      .toLowerCase();
    expect(words.filter((word) => text.includes(word.toLowerCase()))).toEqual([]);
  });

  test("stands in no file of the service, before and after the database was closed", async () => {
    const { directory, client, stop } = await startWithAnn();
    await client.searchProfiles({ domainName: "shop", keyName: "_email", values: ["zq.mail@example.com"] });
    const open = (await bytesOfFiles(directory)).toString("latin1").toLowerCase();
    await stop();
    const closed = (await bytesOfFiles(directory)).toString("latin1").toLowerCase();
    expect(words.filter((word) => `${open}\n${closed}`.includes(word.toLowerCase()))).toEqual([]);
  });
});

describe("deleteProfile", () => {
  test("leaves no record of the profile, and other profiles whole", async () => {
    const { client, app, store, profileId } = await startWithAnn();
    const bob = await client.createProfile({ domainName: "shop", firstName: "Bob", phoneNumber: ann.phoneNumber });
    await client.deleteProfile({ domainName: "shop", profileId });
    const named = (await rowsOf(store)).map(({ key }) => key).filter((key) => key.includes(profileId));
    expect(named.map((key) => key.split("/")[0])).toEqual(["erased_keys"]);
    await app.compaction.run();
    const rows = await rowsOf(store);
    expect(rows.filter(({ key }) => key.includes(profileId))).toEqual([]);
    expect(await countsOf(store)).toMatchObject({
      profile_seeds: 1,
      profiles: 1,
      search_keys: 2,
      expiries: 1,
    });
    const { items } = await client.searchProfiles({ domainName: "shop", keyName: "_phone", values: [ann.phoneNumber] });
    expect(items.map((profile) => profile.profileId)).toEqual([bob.profileId]);
  });

  test.each([
    ["just before", 0],
    ["long before, with compactions in between", 2],
  ])(
    "takes a data key that was written %s out of the files, so that no copy of the profile can be read",
    async (_when, compactions) => {
      const { client, app, store, directory, profileId } = await startWithAnn();
      const [stored] = await store.read((reader) => reader.list(profileSeeds, { limit: 1 }));
      for (let index = 0; index < compactions; index += 1) {
        await client.createProfile({ domainName: "shop" });
        await app.compaction.run();
      }
      expect(await hold(directory, stored?.value.seed)).toBe(true);
      await client.deleteProfile({ domainName: "shop", profileId });
      await app.compaction.run();
      expect(await hold(directory, stored?.value.seed)).toBe(false);
    },
  );
});

test("a compaction that was due when the process ended is done after the next start", async () => {
  const { client, store, directory, clock, stop, profileId } = await startWithAnn();
  const [stored] = await store.read((reader) => reader.list(profileSeeds, { limit: 1 }));
  await client.deleteProfile({ domainName: "shop", profileId });
  await stop();
  expect(await hold(directory, stored?.value.seed)).toBe(true);
  const next = await startHarness({ directory, clock });
  await eventually(async () => {
    clock.advance(60_000);
    return (await next.store.read((reader) => reader.list(erasedKeys, { limit: 1 }))).length === 0;
  }, "nothing waits for compaction");
  expect(await hold(directory, stored?.value.seed)).toBe(false);
});

test("many erased keys leave the files together, and what lives beside them stays", async () => {
  const { client, app, store, directory, profileId } = await startWithAnn();
  for (let index = 0; index < 40; index += 1)
    await client.createProfile({ domainName: "shop", accountNumber: `${index % 2}` });
  const stored = await store.read((reader) => reader.list(profileSeeds, { limit: 100 }));
  const { items } = await client.searchProfiles({ domainName: "shop", keyName: "_account", values: ["0"] });
  for (const item of items) await client.deleteProfile({ domainName: "shop", profileId: item.profileId });
  await app.compaction.run();
  const erased = new Set(items.map((item) => item.profileId));
  const inFiles = await Promise.all(stored.map(({ value }) => hold(directory, value.seed)));
  expect(inFiles).toEqual(stored.map(({ key }) => !erased.has(idText(key[1]))));
  const left = await client.searchProfiles({ domainName: "shop", keyName: "_profileId", values: [profileId] });
  expect(left.items[0]?.firstName).toBe("Zebedea");
});

test("deleteDomain takes the domain's key out of the files, so that no copy of its records can be read", async () => {
  const { client, app, store, directory } = await startWithAnn();
  const [stored] = await store.read((reader) => reader.list(domainKeys, { limit: 1 }));
  // The last parts of a wrapped key: 32 encrypted bytes and 16 of the tag.
  const ciphertext = stored?.value.key.subarray(-48);
  expect(await hold(directory, ciphertext)).toBe(true);
  await client.deleteDomain({ domainName: "shop" });
  await app.compaction.run();
  expect(await hold(directory, ciphertext)).toBe(false);
});

/** Whether the database's files have these random or encrypted bytes. */
const hold = async (directory: string, bytes: Uint8Array | undefined): Promise<boolean> => {
  expect(bytes?.length).toBeGreaterThanOrEqual(32);
  // LevelDB compresses: bytes at the ends may be in the files as a reference to the same bytes next to an earlier key.
  const middle = Buffer.from(bytes ?? []).subarray(4, -4);
  return (await bytesOfFiles(join(directory, "leveldb"))).includes(middle);
};

test("updateProfile leaves no index entry of what was replaced", async () => {
  const { client, store, profileId } = await startWithAnn();
  await client.updateProfile({ domainName: "shop", profileId, phoneNumber: "112", emailAddress: "", firstName: "Ann" });
  // Phone, full name and the added key.
  expect(await countsOf(store)).toMatchObject({ search_keys: 3, expiries: 1 });
});
