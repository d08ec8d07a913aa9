import { expect, test } from "vitest";

import { objectPlaces, objectTypeKeys, profileSeeds } from "../../../services/customer-profile/store/layout.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
import type { Harness } from "../harness.ts";
import { startHarness } from "../harness.ts";

const visits = {
  description: "d",
  allowProfileCreation: true,
  encryptionKey: "visits",
  fields: { person: { source: "_source.person", target: "_profile.FirstName" } },
  keys: { person: { items: [{ standardIdentifiers: ["UNIQUE", "PROFILE"] }] } },
};

/** A domain whose type of these objects was deleted; no removal runs. */
const withDeletedType = async (people: readonly string[]): Promise<Harness> => {
  const harness = await startHarness({ works: false });
  const { client } = harness;
  await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
  await client.putProfileObjectType({ domainName: "shop", objectTypeName: "visit", ...visits });
  for (const person of people)
    await client.putProfileObject({ domainName: "shop", objectTypeName: "visit", object: JSON.stringify({ person }) });
  await client.deleteProfileObjectType({ domainName: "shop", objectTypeName: "visit" });
  return harness;
};

const numbered = (count: number) => Array.from({ length: count }, (_each, index) => `person ${index}`);

/** Of each object of a list, whether it is removed. */
const removed = (
  { store }: Harness,
  places: readonly { readonly key: readonly [Uint8Array, Uint8Array, Uint8Array] }[],
) =>
  store.read((reader) =>
    Promise.all(
      places.map(({ key }) =>
        reader.get(objectPlaces, key).then(
          (place) => place === undefined,
          () => false,
        ),
      ),
    ),
  );

const listed = ({ store }: Harness) => store.read((reader) => reader.list(objectPlaces, { limit: 200 }));

test.each([
  [
    "the place",
    async ({ directory }: Harness, place: readonly [Uint8Array, Uint8Array, Uint8Array]) =>
      damageStoredRecord(directory, objectPlaces, place),
  ],
  [
    "the profile",
    async ({ directory }: Harness, [domainId]: readonly [Uint8Array, ...unknown[]], profileId: Uint8Array) =>
      damageStoredRecord(directory, profileSeeds, [domainId, profileId]),
  ],
])("%s of an object of a deleted type that is damaged keeps no other from being removed", async (_what, damage) => {
  const first = await withDeletedType(numbered(120));
  const places = await listed(first);
  await first.stop();
  const [, , chosen] = places;
  await damage(first, chosen!.key, chosen!.value.profileId);

  const second = await startHarness({ directory: first.directory, clock: first.clock });
  await second.app.jobs.idle();
  expect(await removed(second, places)).toEqual(places.map((place) => place !== chosen));
  expect(second.app.jobs.stats()).toMatchObject({ retried: 1 });
  // What is left of the type can still be read by a merge of its profile.
  expect(await second.store.read((reader) => reader.list(objectTypeKeys, { limit: 2 }))).toHaveLength(1);
});

test("the key of a deleted type goes with the last of its objects", async () => {
  const first = await withDeletedType(numbered(120));
  await first.stop();
  const second = await startHarness({ directory: first.directory, clock: first.clock });
  await second.app.jobs.idle();
  expect(await listed(second)).toEqual([]);
  expect(await second.store.read((reader) => reader.list(objectTypeKeys, { limit: 2 }))).toEqual([]);
});
