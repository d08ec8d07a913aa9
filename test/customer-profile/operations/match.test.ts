import { describe, expect, test } from "vitest";

import { refusalOf } from "../harness.ts";
import { startResolving, together } from "../work/resolution/resolving.ts";
import { ruling, startRuling } from "../work/resolution/ruling.ts";

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

const byRules = { domainName: "shop", matchType: "RULE_BASED_MATCHING" };
const byJobs = { domainName: "shop", matchType: "ML_BASED_MATCHING" };

describe("listRuleBasedMatches", () => {
  test("lists in pages, each match once", async () => {
    const { client, add, settle } = await startRuling(ruling(["EmailAddress"]));
    await add(...pairsOf(5));
    await settle();
    const ids: string[] = [];
    const sizes: number[] = [];
    let nextToken: string | undefined;
    do {
      const request = { domainName: "shop", maxResults: 2, ...(nextToken && { nextToken }) };
      const page = await client.listRuleBasedMatches(request);
      ids.push(...page.matchIds);
      sizes.push(page.matchIds.length);
      nextToken = page.nextToken;
    } while (nextToken !== undefined);
    expect(sizes).toEqual([2, 2, 1]);
    expect(new Set(ids).size).toBe(5);
    expect(ids.every((id) => /^[0-9a-f]{32}$/.test(id))).toBe(true);
  });

  test("refuses, in this order", async () => {
    const { client, clientOf, add, settle } = await startRuling(ruling(["EmailAddress"]));
    await add(...pairsOf(2));
    await settle();
    const { nextToken = "" } = await client.listRuleBasedMatches({ domainName: "shop", maxResults: 1 });
    expect(await refusalOf(client.listRuleBasedMatches({ domainName: "none", nextToken }))).toBe(
      "INVALID_PAGE_TOKEN: The value of NextToken is not a token of this listing",
    );
    const unknown = "DOMAIN_NOT_FOUND: Domain shop does not exist";
    expect(await refusalOf(clientOf("111111111111").listRuleBasedMatches({ domainName: "shop" }))).toBe(unknown);
    await client.createDomain({ domainName: "plain", defaultExpirationDays: 30, matching: { enabled: true } });
    expect(await refusalOf(client.listRuleBasedMatches({ domainName: "plain" }))).toBe(
      "RULES_DISABLED: Matching by rules is not enabled in domain plain",
    );
  });
});

describe("getSimilarProfiles", () => {
  test("answers a match of rules by its identifier and by a profile, with its level", async () => {
    const { client, add, settle } = await startRuling(ruling(["AccountNumber", "EmailAddress"]));
    const [one, two, three] = await add(mail("a@x.org"), mail("a@x.org"), mail("b@x.org"));
    await settle();
    const [matchId] = (await client.listRuleBasedMatches({ domainName: "shop" })).matchIds;
    const expected = { matchId, matchType: "RULE_BASED_MATCHING", ruleLevel: 2 };
    for (const [searchKey, searchValue] of [
      ["matchId", matchId],
      ["MatchId", matchId],
      ["profileId", one],
      ["PROFILEID", two],
    ]) {
      const answer = await client.getSimilarProfiles({ ...byRules, searchKey: searchKey!, searchValue: searchValue! });
      expect(answer).toMatchObject(expected);
      expect(answer.profileIds.join()).toBe(together(one, two));
      expect(answer.confidenceScore).toBeUndefined();
    }
    const alone = await client.getSimilarProfiles({ ...byRules, searchKey: "profileId", searchValue: three! });
    expect(alone).toMatchObject({ matchType: "RULE_BASED_MATCHING", profileIds: [] });
    expect(alone.matchId).toBeUndefined();
  });

  test("answers a match of a job with its confidence, in pages, until the job has expired", async () => {
    const { client, clock, add, passWeek } = await startResolving();
    const ids = await add(mail("a@x.org"), mail("a@x.org"), mail("a@x.org"));
    await passWeek();
    const request = { ...byJobs, searchKey: "profileId", searchValue: ids[0]! };
    const first = await client.getSimilarProfiles({ ...request, maxResults: 2 });
    expect(first.confidenceScore).toBeCloseTo(0.8, 2);
    expect(first.ruleLevel).toBeUndefined();
    const second = await client.getSimilarProfiles({ ...request, maxResults: 2, nextToken: first.nextToken! });
    expect([...first.profileIds, ...second.profileIds].join()).toBe(together(...ids));
    expect(second.nextToken).toBeUndefined();
    clock.advance(6 * 24 * 60 * 60 * 1000);
    expect((await client.getSimilarProfiles(request)).profileIds).toHaveLength(3);
  });

  test("answers no profiles of a match that does not exist", async () => {
    const { client } = await startRuling(ruling(["EmailAddress"]));
    for (const searchValue of ["0".repeat(32), "no identifier"])
      expect(await client.getSimilarProfiles({ ...byRules, searchKey: "matchId", searchValue })).toMatchObject({
        profileIds: [],
      });
  });

  test("refuses, in this order", async () => {
    const { client, add, settle } = await startRuling(ruling(["EmailAddress"]));
    const [one] = await add(mail("a@x.org"), mail("a@x.org"));
    await settle();
    const similar = (more: object) =>
      refusalOf(client.getSimilarProfiles({ ...byRules, searchKey: "profileId", searchValue: one!, ...more }));
    expect(await similar({ domainName: "none", searchKey: "_email", nextToken: "bm90IG1pbmU=" })).toBe(
      "INVALID_PAGE_TOKEN: The value of NextToken is not a token of this listing",
    );
    expect(await similar({ domainName: "none", searchKey: "_email" })).toBe("SIMILAR_KEY_INVALID");
    expect(await similar({ domainName: "none" })).toBe("DOMAIN_NOT_FOUND: Domain none does not exist");
    expect(await similar({ matchType: "ML_BASED_MATCHING", searchValue: "x" })).toBe(
      "MATCHING_DISABLED: Identity resolution is not enabled in domain shop",
    );
    for (const searchValue of ["x", "0".repeat(32)])
      expect(await similar({ searchValue })).toBe(`PROFILE_NOT_FOUND: Profile ${searchValue} does not exist`);
  });
});
