import { describe, expect, test } from "vitest";

import { idBytes } from "../../../services/customer-profile/domain/identifier.ts";
import { searchKey } from "../../../services/customer-profile/domain/search-key.ts";
import { openDomain } from "../../../services/customer-profile/store/domain.ts";
import { digestOf } from "../../../services/customer-profile/store/key-index.ts";
import { keyHolders, searchKeys } from "../../../services/customer-profile/store/layout.ts";
import { shownTurns, turnsOf } from "../../support/turns.ts";
import type { Harness } from "../harness.ts";
import { ownerAccount, startHarness } from "../harness.ts";

/** What one turn of the event loop may have of the CPU, in milliseconds. */
const turnMsMax = 50;

const startShop = async (): Promise<Harness> => {
  const harness = await startHarness({ works: false });
  await harness.client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
  return harness;
};

/** Gives each value of a key as many profiles, of which no two values have the same, in the index only. */
const spreadKeys = async ({ app }: Harness, keyName: string, values: readonly string[], count: number) =>
  app.store.transact(async (transaction) => {
    const domain = await openDomain(transaction, app.keyring, ownerAccount, "shop");
    for (const [index, value] of values.entries()) {
      const digest = digestOf(domain.keys, searchKey(keyName, value));
      transaction.put(searchKeys, [domain.id, digest], { isSpread: true, profileIds: new Uint8Array(16) });
      for (let number = 0; number < count; number += 1) {
        const id = idBytes((number * values.length + index).toString(16).padStart(32, "0"));
        transaction.put(keyHolders, [domain.id, digest, id], { originCount: 1 });
      }
    }
  });

describe("other calls have their turns", () => {
  test("while a search has 300 values with a hundred profiles each", async () => {
    const shop = await startShop();
    const values = Array.from({ length: 300 }, (_each, index) => `A-${index}`);
    await spreadKeys(shop, "_account", values, 100);
    const turns = await turnsOf(() =>
      shop.client.searchProfiles({ domainName: "shop", keyName: "_account", values, maxResults: 100 }),
    );
    console.info(shownTurns(turns));
    expect(turns.longest).toBeLessThan(turnMsMax);
  });

  test("while a merge moves 200 objects of 250 KB", async () => {
    const { client } = await startShop();
    const { profileId: main } = await client.createProfile({ domainName: "shop" });
    const { profileId: other } = await client.createProfile({ domainName: "shop" });
    await client.putProfileObjectType({
      domainName: "shop",
      objectTypeName: "note",
      description: "d",
      fields: { id: { source: "_source.id" }, _profileId: { source: "_source.profile" } },
      keys: {
        id: { items: [{ standardIdentifiers: ["UNIQUE"] }] },
        _profileId: { items: [{ standardIdentifiers: ["PROFILE", "LOOKUP_ONLY"] }] },
      },
    });
    const text = "x".repeat(250_000);
    for (let id = 0; id < 200; id += 1)
      await client.putProfileObject({
        domainName: "shop",
        objectTypeName: "note",
        object: JSON.stringify({ id, profile: other, text }),
      });
    const request = { domainName: "shop", mainProfileId: main, profileIdsToBeMerged: [other] };
    const turns = await turnsOf(() => client.mergeProfiles(request));
    console.info(shownTurns(turns));
    expect(turns.longest).toBeLessThan(turnMsMax);
    const { items } = await client.listProfileObjects({ domainName: "shop", objectTypeName: "note", profileId: main });
    expect(items).toHaveLength(13);
  });
});
