import { describe, expect, test } from "vitest";

import { limits } from "../../../../services/customer-profile/limits.ts";
import { refusalOf } from "../../harness.ts";
import { brokenInvariants } from "../../invariants.ts";
import { startResolving, together } from "./resolving.ts";

const merging = (changes: object = {}) => ({
  enabled: true,
  autoMerging: {
    enabled: true,
    consolidation: { matchingAttributesList: [{ items: ["EmailAddress", "LastName"] }, { items: ["PhoneNumber"] }] },
    conflictResolution: { conflictResolvingModel: "RECENCY" },
    ...changes,
  },
});
const sol = { emailAddress: "a@x.org", lastName: "Sol" };

const lastJob = async ({ client }: Pick<Awaited<ReturnType<typeof startResolving>>, "client">) => {
  const { identityResolutionJobsList: jobs } = await client.listIdentityResolutionJobs({ domainName: "shop" });
  return client.getIdentityResolutionJob({ domainName: "shop", jobId: jobs[1]!.jobId! });
};

describe("automatic merging", () => {
  test("merges what agrees exactly on a criterion into the oldest, with the most recent values", async () => {
    const resolving = await startResolving(merging());
    const { client, clock, add, passWeek, found, store } = resolving;
    const [first] = await add({ ...sol, firstName: "Ana", gender: "MALE" });
    clock.advance(1_000);
    const [second, third] = await add({ ...sol, firstName: "Anna" }, { emailAddress: "a@x.org", firstName: "Ann" });
    await passWeek();
    expect(await lastJob(resolving)).toMatchObject({
      status: "COMPLETED",
      autoMerging: merging().autoMerging,
      jobStats: { numberOfProfilesReviewed: 3n, numberOfMatchesFound: 1n, numberOfMergesDone: 1n },
    });
    expect(await found()).toEqual([[together(first, third), 0.8]]);
    const search = { domainName: "shop", keyName: "_email", values: ["a@x.org"] };
    const { items } = await client.searchProfiles(search);
    expect(together(...items.map(({ profileId }) => profileId))).toBe(together(first, third));
    expect(items.find(({ profileId }) => profileId === first)).toMatchObject({ firstName: "Anna", gender: "MALE" });
    expect(await refusalOf(client.deleteProfile({ domainName: "shop", profileId: second! }))).toBe(
      `PROFILE_NOT_FOUND: Profile ${second} does not exist`,
    );
    expect(await brokenInvariants(store)).toEqual([]);
  });

  test.each([
    ["is disabled", { enabled: false }],
    ["has no criteria", { consolidation: undefined }],
    ["asks for more confidence than there is", { minAllowedConfidenceScoreForMerging: 0.999 }],
    ["asks for attributes that differ", { consolidation: { matchingAttributesList: [{ items: ["FirstName"] }] } }],
  ])("merges nothing when it %s", async (_what, changes) => {
    const { add, passWeek, found } = await startResolving(merging(changes));
    const [one, two] = await add({ ...sol, firstName: "Ana" }, { ...sol, firstName: "Anna" });
    await passWeek();
    expect(await found()).toEqual([[together(one, two), 0.8]]);
  });

  test("merges what was found before, once its settings allow it", async () => {
    const { client, add, passWeek, found } = await startResolving({ enabled: true });
    await add(sol, sol, { phoneNumber: "112233" }, { phoneNumber: "112233" });
    await passWeek();
    expect(await found()).toHaveLength(2);
    const strict = merging({ minAllowedConfidenceScoreForMerging: 0.8 });
    await client.updateDomain({ domainName: "shop", matching: strict });
    await passWeek();
    expect(await found()).toMatchObject([[expect.any(String), 0.5]]);
    await client.updateDomain({ domainName: "shop", matching: merging() });
    await passWeek();
    expect(await found()).toEqual([]);
  });

  test("leaves profiles that are too large together, says so, and merges the others", async () => {
    const resolving = await startResolving(merging());
    const { client, add, passWeek, found } = resolving;
    const large = await add(sol, sol);
    for (const [index, profileId] of large.entries()) {
      const values = Array.from({ length: 2_000 }, (_each, value) => `${index}-${value}`);
      await client.addProfileKey({ domainName: "shop", profileId, keyName: "k", values });
    }
    await add({ phoneNumber: "112233" }, { phoneNumber: "112233" });
    await passWeek();
    expect(await found()).toEqual([[together(...large), 0.8]]);
    expect(await lastJob(resolving)).toMatchObject({
      status: "PARTIAL_SUCCESS",
      message: "matches that are too large to be merged: 1",
      jobStats: { numberOfMergesDone: 1n },
    });
    await passWeek();
    expect(await lastJob(resolving)).toMatchObject({ status: "COMPLETED", jobStats: { numberOfMergesDone: 0n } });
  });

  test("merges 21 profiles with their objects into one", async () => {
    const resolving = await startResolving(merging());
    const { client, passWeek, found } = resolving;
    for (let index = 0; index < limits.matchedProfilesMax; index += 1) {
      const object = JSON.stringify({ ContactId: `c-${index}`, CustomerEndpoint: { Address: `55512345${index}` } });
      await client.putProfileObject({ domainName: "shop", objectTypeName: "CTR", object });
      const search = { domainName: "shop", keyName: "_ctrContactId", values: [`c-${index}`] };
      const [item] = (await client.searchProfiles(search)).items;
      await client.updateProfile({ domainName: "shop", profileId: item!.profileId, phoneNumber: "112233" });
    }
    await passWeek();
    expect(await found()).toEqual([]);
    expect((await client.getDomain({ domainName: "shop" })).stats).toMatchObject({
      profileCount: 1n,
      objectCount: 21n,
    });
    expect((await lastJob(resolving)).jobStats).toMatchObject({
      numberOfMatchesFound: 1n,
      numberOfMergesDone: 20n,
    });
  });
});
