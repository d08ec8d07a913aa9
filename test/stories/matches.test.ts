import {
  CreateDomainCommand,
  CreateProfileCommand,
  GetAutoMergingPreviewCommand,
  GetIdentityResolutionJobCommand,
  GetMatchesCommand,
  GetSimilarProfilesCommand,
  ListIdentityResolutionJobsCommand,
  ListRuleBasedMatchesCommand,
  MergeProfilesCommand,
  UpdateDomainCommand,
} from "@aws-sdk/client-customer-profiles";
import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

test("a person enables identity resolution with the official SDK, sees when it will look, and merges", async () => {
  const system = await startSystem(await temporaryDirectory());
  onTestFinished(() => system.stop());
  const { customerProfile } = system.clients;
  const shop = { DomainName: "shop" };
  const Matching = { Enabled: true, JobSchedule: { DayOfTheWeek: "MONDAY", Time: "4:15" } } as const;
  const created = await customerProfile.send(new CreateDomainCommand({ ...shop, DefaultExpirationDays: 30, Matching }));
  expect(created.Matching).toEqual(Matching);
  const ids: (string | undefined)[] = [];
  for (const EmailAddress of ["ana@example.com", "ANA@example.com"])
    ids.push((await customerProfile.send(new CreateProfileCommand({ ...shop, EmailAddress }))).ProfileId);

  const matches = await customerProfile.send(new GetMatchesCommand({ ...shop, MaxResults: 5 }));
  expect(matches).toMatchObject({ Matches: [], PotentialMatches: 0 });
  const jobs = await customerProfile.send(new ListIdentityResolutionJobsCommand(shop));
  const [job] = jobs.IdentityResolutionJobsList ?? [];
  expect(job).toMatchObject({ ...shop, Status: "PENDING", JobStats: { NumberOfMatchesFound: 0 } });
  const shown = await customerProfile.send(new GetIdentityResolutionJobCommand({ ...shop, JobId: job?.JobId }));
  expect(shown.JobStartTime?.getUTCDay()).toBe(1);
  expect(shown.JobStartTime?.toISOString()).toContain("T04:15:00.000Z");

  const Consolidation = { MatchingAttributesList: [["EmailAddress", "LastName"]] };
  const ConflictResolution = { ConflictResolvingModel: "RECENCY" } as const;
  const preview = new GetAutoMergingPreviewCommand({ ...shop, Consolidation, ConflictResolution });
  expect(await customerProfile.send(preview)).toMatchObject({ ...shop, NumberOfProfilesWillBeMerged: 0 });

  const [MainProfileId, merged = ""] = ids;
  await customerProfile.send(new MergeProfilesCommand({ ...shop, MainProfileId, ProfileIdsToBeMerged: [merged] }));
  await customerProfile.send(new UpdateDomainCommand({ ...shop, Matching: { Enabled: false } }));
  await expect(customerProfile.send(new GetMatchesCommand(shop))).rejects.toMatchObject({
    name: "BadRequestException",
    message: "Identity resolution is not enabled in domain shop",
  });
});

test("a person has profiles found by rules within seconds, and looks at a match", async () => {
  const system = await startSystem(await temporaryDirectory());
  onTestFinished(() => system.stop());
  const { customerProfile } = system.clients;
  const shop = { DomainName: "shop" };
  const RuleBasedMatching = {
    Enabled: true,
    MatchingRules: [{ Rule: ["AccountNumber"] }, { Rule: ["LastName", "EmailAddress"] }],
    AttributeTypesSelector: { AttributeMatchingModel: "MANY_TO_MANY" as const },
  };
  const settings = { ...shop, DefaultExpirationDays: 30, RuleBasedMatching };
  const created = await customerProfile.send(new CreateDomainCommand(settings));
  expect(created.RuleBasedMatching).toMatchObject({ ...RuleBasedMatching, Status: "PENDING" });
  const ids: string[] = [];
  for (const mail of [{ EmailAddress: "ana@example.com" }, { BusinessEmailAddress: "ANA@example.com" }, {}])
    ids.push(
      (await customerProfile.send(new CreateProfileCommand({ ...shop, LastName: "Sol", ...mail }))).ProfileId ?? "",
    );

  const [SearchValue] = await eventually(async () => {
    const { MatchIds = [] } = await customerProfile.send(new ListRuleBasedMatchesCommand(shop));
    return MatchIds.length > 0 && MatchIds;
  }, "the rules have found a match");
  const MatchType = "RULE_BASED_MATCHING";
  const similar = new GetSimilarProfilesCommand({ ...shop, MatchType, SearchKey: "matchId", SearchValue });
  const match = await customerProfile.send(similar);
  expect(match).toMatchObject({ MatchType, MatchId: SearchValue, RuleLevel: 2 });
  expect(new Set(match.ProfileIds)).toEqual(new Set(ids.slice(0, 2)));
});
