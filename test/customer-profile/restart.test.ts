import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { startHarness } from "./harness.ts";

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
  expect([...page.items, ...rest.items].map((profile) => profile.firstName ?? "").toSorted()).toEqual([
    "Ann",
    "Bob",
    "Cleo",
  ]);
  expect(await client.getDomain({ domainName: "shop" })).toMatchObject({
    tags: { team: "crm" },
    stats: { profileCount: 3n },
  });
});

test("the service does not start without its master key, or with another one", async () => {
  const first = await startHarness();
  const { directory, clock } = first;
  await first.client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
  await first.stop();
  await rename(join(directory, "master.keys"), join(directory, "aside.keys"));
  await expect(startHarness({ directory, clock })).rejects.toThrow("is missing; without it stored data cannot be read");
  await writeFile(join(directory, "master.keys"), `1 ${Buffer.alloc(32).toString("base64")}\n`);
  await expect(startHarness({ directory, clock })).rejects.toThrow(
    "is not the one that stored data was encrypted with",
  );
  await rename(join(directory, "aside.keys"), join(directory, "master.keys"));
  const { client } = await startHarness({ directory, clock });
  expect((await client.getDomain({ domainName: "shop" })).domainName).toBe("shop");
});
