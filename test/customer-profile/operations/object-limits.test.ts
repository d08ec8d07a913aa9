import { expect, test } from "vitest";

import { refusalOf, startHarness } from "../harness.ts";
import type { ProfileClient } from "../harness.ts";

const contact = (client: ProfileClient, id: number, filling = "") =>
  refusalOf(
    client.putProfileObject({
      domainName: "shop",
      objectTypeName: "CTR",
      object: JSON.stringify({ ContactId: `c-${id}`, CustomerEndpoint: { Address: "112" }, filling }),
    }),
  );

test("a profile takes 1,000 objects, and replacing one of them is no further one", async () => {
  const { client } = await startHarness();
  await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
  for (let id = 0; id < 1_000; id += 1) expect(await contact(client, id)).toBe("answered");
  expect(await contact(client, 1_000)).toBe("TOO_MANY_OBJECTS: A profile can have at most 1000 such objects");
  expect(await contact(client, 7, "other")).toBe("answered");
  expect((await client.getDomain({ domainName: "shop" })).stats).toMatchObject({
    profileCount: 1n,
    objectCount: 1_000n,
    meteringProfileCount: 10n,
  });
});

test("a profile takes 50 mebibytes of objects", async () => {
  const { client } = await startHarness();
  await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
  const filling = "x".repeat(255_000);
  for (let id = 0; id < 205; id += 1) expect(await contact(client, id, filling)).toBe("answered");
  expect(await contact(client, 205, filling)).toBe(
    "OBJECTS_TOO_LARGE: The objects of a profile can have at most 52428800 bytes",
  );
  const [found] = (await client.searchProfiles({ domainName: "shop", keyName: "_phone", values: ["112"] })).items;
  const page = await client.listProfileObjects({
    domainName: "shop",
    objectTypeName: "CTR",
    profileId: found?.profileId,
  });
  expect(page.items).toHaveLength(13);
  expect(page.nextToken).toBeDefined();
});
