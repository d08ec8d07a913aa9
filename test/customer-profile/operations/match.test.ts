import { describe, expect, test } from "vitest";

import { refusalOf } from "../harness.ts";
import { startResolving, together } from "../work/resolution/resolving.ts";

const mail = (emailAddress: string) => ({ emailAddress });
const pairsOf = (count: number) =>
  Array.from({ length: count }, (_each, index) => [mail(`p${index}@x.org`), mail(`p${index}@x.org`)]).flat();

describe("getMatches", () => {
  test("lists what the last job has found, and when", async () => {
    const { client, add, passTo } = await startResolving();
    const ana = { firstName: "Ana", lastName: "Sol", emailAddress: "ana@x.org" };
    const [first, second] = await add(ana, { ...ana, emailAddress: "ANA@x.org" }, { firstName: "Ben" });
    expect(await client.getMatches({ domainName: "shop" })).toMatchObject({ matches: [], potentialMatches: 0 });
    await passTo(Date.UTC(2026, 0, 3));
    const answer = await client.getMatches({ domainName: "shop" });
    expect(answer).toMatchObject({
      matches: [{ confidenceScore: 1 / (1 + 2 ** -7) }],
      potentialMatches: 1,
      matchGenerationDate: { seconds: BigInt(Date.UTC(2026, 0, 3) / 1000) },
    });
    expect(answer.nextToken).toBeUndefined();
    expect(answer.matches.map(({ profileIds }) => profileIds.join())).toEqual([together(first, second)]);
    expect(answer.matches[0]!.matchId).toMatch(/^[0-9a-f]{32}$/);
  });

  test("lists in pages, each match once", async () => {
    const { client, add, passWeek } = await startResolving();
    await add(...pairsOf(5));
    await passWeek();
    const ids: string[] = [];
    const sizes: number[] = [];
    let nextToken: string | undefined;
    do {
      const page = await client.getMatches({ domainName: "shop", maxResults: 2, ...(nextToken && { nextToken }) });
      expect(page.potentialMatches).toBe(5);
      ids.push(...page.matches.map(({ matchId }) => matchId));
      sizes.push(page.matches.length);
      nextToken = page.nextToken;
    } while (nextToken !== undefined);
    expect(sizes).toEqual([2, 2, 1]);
    expect(new Set(ids).size).toBe(5);
  });

  test("keeps the identifier of a match that the next job finds again", async () => {
    const { client, add, passWeek } = await startResolving();
    const [first] = await add(...pairsOf(1));
    await passWeek();
    const [match] = (await client.getMatches({ domainName: "shop" })).matches;
    await client.updateProfile({ domainName: "shop", profileId: first!, gender: "FEMALE" });
    await passWeek();
    expect((await client.getMatches({ domainName: "shop" })).matches).toMatchObject([{ matchId: match!.matchId }]);
  });

  test("lists no profile that is deleted, merged or expired, at once", async () => {
    const { client, clock, add, passWeek, found } = await startResolving();
    const shared = { phoneNumber: "112233", emailAddress: "a@x.org" };
    const [one, two, three] = await add(shared, shared, shared);
    const [four, five] = await add(...pairsOf(1));
    await passWeek();
    expect(await found()).toHaveLength(2);
    await client.deleteProfile({ domainName: "shop", profileId: one! });
    expect(await found()).toContainEqual([together(two, three), 0.996]);
    await client.mergeProfiles({ domainName: "shop", mainProfileId: two!, profileIdsToBeMerged: [three!] });
    expect(await found()).toEqual([[together(four, five), 0.8]]);
    expect(await client.getMatches({ domainName: "shop" })).toMatchObject({ potentialMatches: 1 });
    clock.advance(1_000 * 24 * 60 * 60 * 1000);
    expect(await found()).toEqual([]);
  });

  test("lists nothing once the last job has expired, and all again after the next", async () => {
    const { directory, clock, add, passWeek, stop } = await startResolving();
    await add(...pairsOf(1));
    await passWeek();
    await stop();
    const late = await startResolving({ enabled: true }, { directory, clock, works: false });
    clock.advance(30 * 24 * 60 * 60 * 1000 - 1);
    expect((await late.client.getMatches({ domainName: "shop" })).matches).toHaveLength(1);
    clock.advance(1);
    const expired = await late.client.getMatches({ domainName: "shop" });
    expect(expired).toMatchObject({ matches: [], potentialMatches: 0 });
    expect(expired.matchGenerationDate).toBeUndefined();
    await late.stop();
    const again = await startResolving({ enabled: true }, { directory, clock });
    await again.passWeek();
    expect((await again.client.getMatches({ domainName: "shop" })).matches).toHaveLength(1);
  });

  test("refuses, in this order", async () => {
    const { client, clientOf, add, passWeek } = await startResolving();
    await add(...pairsOf(2));
    await passWeek();
    const { nextToken = "" } = await client.getMatches({ domainName: "shop", maxResults: 1 });
    expect(await refusalOf(client.getMatches({ domainName: "none", nextToken }))).toBe(
      "INVALID_PAGE_TOKEN: The value of NextToken is not a token of this listing",
    );
    expect(await refusalOf(client.getMatches({ domainName: "none" }))).toBe(
      "DOMAIN_NOT_FOUND: Domain none does not exist",
    );
    expect(await refusalOf(clientOf("111111111111").getMatches({ domainName: "shop" }))).toBe(
      "DOMAIN_NOT_FOUND: Domain shop does not exist",
    );
    await client.createDomain({ domainName: "plain", defaultExpirationDays: 30 });
    const refusal = "MATCHING_DISABLED: Identity resolution is not enabled in domain plain";
    expect(await refusalOf(client.getMatches({ domainName: "plain" }))).toBe(refusal);
    await client.updateDomain({ domainName: "plain", matching: { enabled: false } });
    expect(await refusalOf(client.getMatches({ domainName: "plain" }))).toBe(refusal);
  });
});

describe("getAutoMergingPreview", () => {
  const sol = { emailAddress: "a@x.org", lastName: "Sol" };
  const request = {
    domainName: "shop",
    consolidation: { matchingAttributesList: [{ items: ["EmailAddress", "LastName"] }, { items: ["PhoneNumber"] }] },
    conflictResolution: { conflictResolvingModel: "RECENCY" },
  };
  const sample = (matches: bigint, profiles: bigint, merged: bigint) => ({
    numberOfMatchesInSample: matches,
    numberOfProfilesInSample: profiles,
    numberOfProfilesWillBeMerged: merged,
  });

  test("counts what a job would merge, and merges nothing", async () => {
    const { client, add, passWeek, found } = await startResolving();
    expect(await client.getAutoMergingPreview(request)).toMatchObject(sample(0n, 0n, 0n));
    await add(sol, sol, sol, { emailAddress: "a@x.org" }, { phoneNumber: "112233" }, { phoneNumber: "112233" });
    await passWeek();
    expect(await client.getAutoMergingPreview(request)).toMatchObject({ domainName: "shop", ...sample(2n, 6n, 3n) });
    const strict = { ...request, minAllowedConfidenceScoreForMerging: 0.7 };
    expect(await client.getAutoMergingPreview(strict)).toMatchObject(sample(2n, 6n, 2n));
    expect(await found()).toHaveLength(2);
  });

  test("refuses, in this order", async () => {
    const { client } = await startResolving({ enabled: false });
    const source = { ...request, domainName: "none", conflictResolution: { conflictResolvingModel: "SOURCE" } };
    expect(await refusalOf(client.getAutoMergingPreview(source))).toBe(
      "MATCHING_INVALID: The matching settings are not valid: ConflictResolution by SOURCE needs a SourceName",
    );
    expect(await refusalOf(client.getAutoMergingPreview({ ...request, domainName: "none" }))).toBe(
      "DOMAIN_NOT_FOUND: Domain none does not exist",
    );
    expect(await refusalOf(client.getAutoMergingPreview(request))).toBe(
      "MATCHING_DISABLED: Identity resolution is not enabled in domain shop",
    );
  });
});
