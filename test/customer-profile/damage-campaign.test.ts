/**
 * Each record of customer profile is damaged in turn, one of each table, and the service started on it: it must start,
 * and the domains of other accounts must be served as before. See test/support/damage-campaign.ts.
 */
import { expect, test } from "vitest";

import { layout } from "../../services/customer-profile/store/layout.ts";
import type { Logger } from "../../services/kit/log/log.ts";
import type { Campaign, CampaignService } from "../support/damage-campaign.ts";
import { outcomesOf, runCampaign } from "../support/damage-campaign.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import type { ProfileClient } from "./harness.ts";
import { ownerAccount, startHarness } from "./harness.ts";

const other = "111111111111";
const domainName = "shop";
const queueEndpoint = { url: "http://127.0.0.1:1", region: "us-east-1", accessKeyId: "AK", secretAccessKey: "s" };
const weekMs = 7 * 24 * 3_600_000;

const ticket = {
  domainName,
  objectTypeName: "ticket",
  description: "Tickets",
  allowProfileCreation: true,
  fields: { mail: { source: "_source.mail", target: "_profile.EmailAddress", contentType: "EMAIL_ADDRESS" } },
  keys: { mail: { items: [{ fieldNames: ["mail"], standardIdentifiers: ["PROFILE", "UNIQUE"] }] } },
};
/** Its objects find no profile, and are sent to the queue for dead letters. */
const orphan = { ...ticket, objectTypeName: "orphan", description: "Orphans", allowProfileCreation: false };
const putOrphan = (client: ProfileClient, mail: string) =>
  client.putProfileObject({ domainName, objectTypeName: "orphan", object: JSON.stringify({ mail }) });
const putTicket = (client: ProfileClient, mail: string) =>
  client.putProfileObject({ domainName, objectTypeName: "ticket", object: JSON.stringify({ mail }) });

const fillDomain = async (client: ProfileClient, account: string): Promise<void> => {
  const deadLetterQueueUrl = `https://queues.example/${account}/errors`;
  const matching = { enabled: true };
  const ruleBasedMatching = { enabled: true, matchingRules: [{ rule: ["EmailAddress"] }] };
  const settings = { defaultExpirationDays: 30, deadLetterQueueUrl, matching, ruleBasedMatching };
  await client.createDomain({ domainName, ...settings });
  await client.putProfileObjectType(ticket);
  await client.putProfileObjectType(orphan);
  await putOrphan(client, "nobody@x.org");
  for (const name of ["Ann", "Ann", "Bob"])
    await client.createProfile({ domainName, firstName: name, emailAddress: "a@x.org" });
  const { profileId } = await client.createProfile({ domainName, firstName: "Gone" });
  await client.deleteProfile({ domainName, profileId });
  await putTicket(client, "ann@x.org");
  await client.putIntegration({ domainName, uri: "inbox", objectTypeName: "ticket" });
};

const callsOf = (client: ProfileClient): Record<string, () => Promise<unknown>> => ({
  listDomains: () => client.listDomains({}),
  getDomain: () => client.getDomain({ domainName }),
  updateDomain: () => client.updateDomain({ domainName, defaultExpirationDays: 40 }),
  createProfile: () => client.createProfile({ domainName, firstName: "Cleo", emailAddress: "cleo@x.org" }),
  searchProfiles: () => client.searchProfiles({ domainName, keyName: "_email", values: ["a@x.org"], maxResults: 1 }),
  putProfileObject: () => putTicket(client, "ann@x.org"),
  putOrphan: () => putOrphan(client, "nobody@y.org"),
  putAnother: () => putTicket(client, "new@x.org"),
  getProfileObjectType: () => client.getProfileObjectType({ domainName, objectTypeName: "ticket" }),
  listProfileObjectTypes: () => client.listProfileObjectTypes({ domainName }),
  putProfileObjectType: () => client.putProfileObjectType(ticket),
  listIntegrations: () => client.listIntegrations({ domainName }),
  listAccountIntegrations: () => client.listAccountIntegrations({ uri: "inbox" }),
  putIntegration: () => client.putIntegration({ domainName, uri: "inbox", objectTypeName: "ticket" }),
  getMatches: () => client.getMatches({ domainName }),
  listRuleBasedMatches: () => client.listRuleBasedMatches({ domainName }),
  listIdentityResolutionJobs: () => client.listIdentityResolutionJobs({ domainName }),
  createDomain: () => client.createDomain({ domainName: "second", defaultExpirationDays: 30 }),
  deleteDomain: () => client.deleteDomain({ domainName: "second" }),
});

const mayBeEmpty = [
  "erased_keys",
  "key_holders",
  "dead_letters",
  "object_type_keys",
  "flows",
  "changed_profiles",
  "rule_changes",
  "job_bodies",
  "job_states",
  "jobs_scheduled",
  "jobs_ready",
  "jobs_leased",
  "jobs_expiring",
  "jobs_new",
];

test("no damaged record keeps the service from starting, or other accounts from being served", async () => {
  const clock = new FakeClock();
  const fill: Campaign["fill"] = async (noteOwn) => {
    const directory = await temporaryDirectory();
    const { clientOf, store, app, stop } = await startHarness({ directory, clock, queueEndpoint });
    for (const account of [ownerAccount, other]) {
      await fillDomain(clientOf(account), account);
      clock.advance(weekMs);
      await app.jobs.idle();
      if (account === ownerAccount) await noteOwn(store);
    }
    await stop();
    return directory;
  };
  const start = async (directory: string, log: Logger): Promise<CampaignService> => {
    const own = new FakeClock(clock.now());
    const harness = await startHarness({ directory, clock: own, queueEndpoint, log });
    return {
      call: (tenant) => outcomesOf(callsOf(harness.clientOf(tenant === "own" ? ownerAccount : other))),
      passSecond: async () => {
        own.advance(1_000);
        await harness.app.jobs.idle();
      },
      stop: harness.stop,
    };
  };
  const { problems, cases } = await runCampaign({ layout, mayBeEmpty, fill, start });
  expect(problems).toEqual([]);
  expect(cases).toBeGreaterThan(layout.length);
});
