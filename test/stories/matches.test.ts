import {
  CreateDomainCommand,
  CreateProfileCommand,
  GetAutoMergingPreviewCommand,
  GetIdentityResolutionJobCommand,
  GetMatchesCommand,
  ListIdentityResolutionJobsCommand,
  MergeProfilesCommand,
  UpdateDomainCommand,
} from "@aws-sdk/client-customer-profiles";
import { expect, onTestFinished, test } from "vitest";

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
