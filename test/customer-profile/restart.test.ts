import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { refusalOf, startHarness } from "./harness.ts";

test("everything that was answered is there after a restart, and page tokens stay good", async () => {
  const first = await startHarness();
  await first.client.createDomain({ domainName: "shop", defaultExpirationDays: 30, tags: { team: "crm" } });
  const ids: string[] = [];
  for (const firstName of ["Ann", "Bob", "Cleo"])
    ids.push((await first.client.createProfile({ domainName: "shop", accountNumber: "A", firstName })).profileId);
  const request = { domainName: "shop", keyName: "_account", values: ["A"], maxResults: 2 };
  const page = await first.client.searchProfiles(request);
  await first.stop();

  const { client } = await startHarness({ directory: first.directory, clock: first.clock });
  const rest = await client.searchProfiles({ ...request, nextToken: page.nextToken });
  expect([...page.items, ...rest.items].map((profile) => profile.profileId)).toEqual(ids.toSorted());
  expect([...page.items, ...rest.items].map((profile) => profile.firstName).toSorted()).toEqual(["Ann", "Bob", "Cleo"]);
  expect(await client.getDomain({ domainName: "shop" })).toMatchObject({
    tags: { team: "crm" },
    stats: { profileCount: 3n },
  });
});

test("another master key opens nothing", async () => {
  const first = await startHarness();
  await first.client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
  await first.client.createProfile({ domainName: "shop", accountNumber: "A" });
  await first.stop();
  await writeFile(join(first.directory, "master.key"), new Uint8Array(32));

  const { client } = await startHarness({ directory: first.directory, clock: first.clock });
  const search = client.searchProfiles({ domainName: "shop", keyName: "_account", values: ["A"] });
  expect(await refusalOf(search)).toBe("DATA_LOSS: Stored data cannot be read");
});
