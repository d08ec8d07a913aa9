import { describe, expect, test } from "vitest";

import { domainKeys, profileSeeds } from "../../../../services/customer-profile/store/layout.ts";
import { resolutionJobs } from "../../../../services/customer-profile/store/layout-resolution.ts";
import { changingKeys } from "../../../support/changing-keys.ts";
import { damageStoredRecord } from "../../../support/damaged-record.ts";
import { rounds } from "../../../support/rounds.ts";
import { countsOf } from "../../database.ts";
import type { Harness } from "../../harness.ts";
import { refusalOf } from "../../harness.ts";
import { brokenInvariants } from "../../invariants.ts";
import { randomFrom } from "../../random.ts";
import type { Person } from "./resolving.ts";
import { removeOne, startResolving, together } from "./resolving.ts";

const saturday = Date.UTC(2026, 0, 3);
const dayMs = 24 * 60 * 60 * 1000;
const twin: Person = { emailAddress: "a@x.org" };

/** The jobs of the one domain, the latest first: status, profiles reviewed, and when they begin. */
const jobsOf = async ({ store }: Harness) =>
  (await store.read((reader) => reader.list(resolutionJobs, { limit: 100 })))
    .map(({ value }) => value)
    .toSorted((a, b) => Number(b.startMs - a.startMs))
    .map(({ status, profilesReviewed, startMs, message }) => ({
      status,
      reviewed: Number(profilesReviewed),
      begins: new Date(Number(startMs)).toISOString().slice(0, 16),
      ...(message !== "" && { message }),
    }));

/** What is left of identity resolution: the names of its tables with records. */
const leftIn = async ({ store }: Harness) =>
  Object.keys(await countsOf(store)).filter((name) => /^(?:resolution|match|changed)/.test(name));

describe("the schedule of identity resolution", () => {
  test("is Saturday, 00:00 UTC, unless the domain has another", async () => {
    const { add, passTo, found } = await startResolving();
    const [one, two] = await add(twin, twin);
    await passTo(saturday - 1);
    expect(await found()).toEqual([]);
    await passTo(saturday);
    expect(await found()).toEqual([[together(one, two), 0.8]]);
  });

  test("follows the settings, and is not begun anew by settings that stay", async () => {
    const resolving = await startResolving();
    const { client, add, passTo, found } = resolving;
    await add(twin, twin);
    const matching = { enabled: true, jobSchedule: { dayOfTheWeek: "FRIDAY", time: "12:30" } };
    for (let times = 0; times < 2; times += 1) await client.updateDomain({ domainName: "shop", matching });
    expect(await jobsOf(resolving)).toEqual([{ status: "PENDING", reviewed: 0, begins: "2026-01-02T12:30" }]);
    await passTo(Date.UTC(2026, 0, 2, 12, 30));
    expect(await found()).toHaveLength(1);
    expect(await jobsOf(resolving)).toEqual([
      { status: "PENDING", reviewed: 0, begins: "2026-01-09T12:30" },
      { status: "COMPLETED", reviewed: 2, begins: "2026-01-02T12:30" },
    ]);
  });

  test("has three jobs in a week at most, also of a domain that is disabled and enabled", async () => {
    const resolving = await startResolving();
    const { client, clock, passTo } = resolving;
    const begin = async () => {
      const soon = new Date(clock.now() + 60_000).toISOString().slice(11, 16);
      const jobSchedule = { dayOfTheWeek: "FRIDAY", time: soon };
      await client.updateDomain({ domainName: "shop", matching: { enabled: false } });
      await client.updateDomain({ domainName: "shop", matching: { enabled: true, jobSchedule } });
      await passTo(clock.now() + 60_000);
    };
    for (let times = 0; times < 4; times += 1) await begin();
    expect((await jobsOf(resolving)).map(({ status }) => status)).toEqual([
      "PENDING",
      "COMPLETED",
      "COMPLETED",
      "COMPLETED",
    ]);
    expect((await jobsOf(resolving))[0]).toMatchObject({ begins: "2026-01-09T03:08" });
  });
});

describe("a job of identity resolution", () => {
  test("compares what has changed since the last one, and nothing else", async () => {
    const resolving = await startResolving();
    const { client, add, passWeek, found } = resolving;
    const people = Array.from({ length: 60 }, (_each, index) => ({ emailAddress: `p${index}@x.org` }));
    const [first] = await add(...people);
    await passWeek();
    const [late] = await add({ emailAddress: "P59@x.org" });
    await client.updateProfile({ domainName: "shop", profileId: first!, emailAddress: "p58@x.org" });
    await passWeek();
    await passWeek();
    expect((await jobsOf(resolving)).map(({ reviewed }) => reviewed)).toEqual([0, 0, 2, 60]);
    expect((await found()).flatMap(([ids]) => ids.split(","))).toEqual(expect.arrayContaining([first, late]));
    expect(await found()).toHaveLength(2);
  });

  test("compares all profiles of a domain that had them before", async () => {
    const { client, add, passWeek, found } = await startResolving({ enabled: false });
    await add(
      ...Array.from({ length: 30 }, () => [twin, { phoneNumber: "112233", firstName: "Ana" }])
        .flat()
        .slice(0, 3),
    );
    await client.updateDomain({ domainName: "shop", matching: { enabled: true } });
    await passWeek();
    expect(await found()).toHaveLength(1);
  });

  test("compares what objects say", async () => {
    const { client, add, passWeek, found } = await startResolving();
    await add({ phoneNumber: "+1 555 123 4567" });
    const object = JSON.stringify({ ContactId: "c-1", CustomerEndpoint: { Address: "5551234567" } });
    await client.putProfileObject({ domainName: "shop", objectTypeName: "CTR", object });
    await passWeek();
    expect(await found()).toMatchObject([[expect.any(String), 0.5]]);
  });

  test("takes a profile out of a match that it does not belong to any more, and the match apart that it held", async () => {
    const { client, add, passWeek, found } = await startResolving();
    const [one, two, three] = await add(
      { emailAddress: "a@x.org" },
      { emailAddress: "a@x.org", personalEmailAddress: "b@x.org" },
      { emailAddress: "b@x.org" },
    );
    await passWeek();
    expect(await found()).toEqual([[together(one, two, three), 0.8]]);
    await client.updateProfile({ domainName: "shop", profileId: two!, personalEmailAddress: "" });
    await passWeek();
    expect(await found()).toEqual([[together(one, two), 0.8]]);
    await client.updateProfile({ domainName: "shop", profileId: three!, emailAddress: "a@x.org" });
    await passWeek();
    expect(await found()).toEqual([[together(one, two, three), 0.8]]);
    await client.deleteProfile({ domainName: "shop", profileId: two! });
    await passWeek();
    expect(await found()).toEqual([[together(one, three), 0.8]]);
  });

  test("finds nobody by a value that more than 21 profiles have, until they are fewer", async () => {
    const { client, add, passWeek, found } = await startResolving();
    const office = await add(...Array.from({ length: 21 }, () => ({ phoneNumber: "112233" })));
    const twins = await add(...Array.from({ length: 21 }, () => twin));
    await passWeek();
    const [late] = await add({ phoneNumber: "112233" });
    await passWeek();
    expect(await found()).toEqual(
      [[together(...office), 0.5] as const, [together(...twins), 0.8] as const].toSorted(([a], [b]) =>
        a < b ? -1 : 1,
      ),
    );
    const [first = "", ...others] = office;
    await client.mergeProfiles({ domainName: "shop", mainProfileId: first, profileIdsToBeMerged: others });
    await passWeek();
    expect(await found()).toContainEqual([together(first, late), 0.5]);
  });

  test("goes on where it was when the process ended", async () => {
    const first = await startResolving();
    await first.add(...Array.from({ length: 45 }, (_each, index) => ({ emailAddress: `p${index % 40}@x.org` })));
    first.clock.set(saturday);
    await first.stop();
    const second = await startResolving({ enabled: true }, { directory: first.directory, clock: first.clock });
    await second.app.jobs.idle();
    expect(await second.found()).toHaveLength(5);
    expect((await jobsOf(second))[1]).toMatchObject({ status: "COMPLETED", begins: "2026-01-03T00:00" });
  });

  test("leaves out a damaged profile, says so, and compares all others", async () => {
    const first = await startResolving({ enabled: true }, { works: false });
    const ids = await first.add(twin, ...Array.from({ length: 25 }, () => ({})), twin, { ...twin, firstName: "Ana" });
    const [domain] = await first.store.read((reader) => reader.list(domainKeys, { limit: 1 }));
    await first.stop();
    await damageStoredRecord(first.directory, profileSeeds, [domain!.key[0], Buffer.from(ids.at(-1)!, "hex")]);
    const second = await startResolving({ enabled: true }, { directory: first.directory, clock: first.clock });
    await second.passTo(saturday);
    expect(await second.found()).toEqual([[together(ids[0], ids.at(-2)), 0.8]]);
    expect((await jobsOf(second))[1]).toMatchObject({
      status: "PARTIAL_SUCCESS",
      message: "profiles that cannot be read: 1",
    });
  });

  test("waits for an encryption key that is disabled, for a day, and fails until the next", async () => {
    const keys = changingKeys();
    keys.declare({ id: "crm", aliases: ["alias/crm"] });
    const resolving = await startResolving({ enabled: true }, { keyNames: keys.names });
    const { client, add, passTo, passWeek, found } = resolving;
    await add(twin, twin);
    await client.updateDomain({ domainName: "shop", defaultEncryptionKey: "alias/crm" });
    keys.declare({ id: "crm", aliases: ["alias/crm"], state: "DISABLED" });
    await passTo(saturday);
    expect(await found()).toEqual([]);
    await passTo(saturday + 2 * dayMs);
    expect(await jobsOf(resolving)).toMatchObject([
      { status: "PENDING", begins: "2026-01-10T00:00" },
      { status: "FAILED" },
    ]);
    keys.declare({ id: "crm", aliases: ["alias/crm"] });
    await passWeek();
    expect(await found()).toHaveLength(1);
  });
});

test("a job that fails by damage of its domain shows no more than that", async () => {
  const first = await startResolving({ enabled: true }, { works: false });
  await first.add(twin, twin);
  const [domain] = await first.store.read((reader) => reader.list(domainKeys, { limit: 1 }));
  await first.stop();
  await damageStoredRecord(first.directory, domainKeys, domain!.key);
  const second = await startResolving({ enabled: true }, { directory: first.directory, clock: first.clock });
  await second.passTo(saturday);
  await second.passTo(saturday + 2 * dayMs);
  expect(await jobsOf(second)).toMatchObject([
    { status: "PENDING" },
    { status: "FAILED", message: "an internal error" },
  ]);
});

describe("identity resolution that ends", () => {
  test("with its setting shows nothing any more and leaves nothing but the jobs that have ended", async () => {
    const resolving = await startResolving();
    const { client, app, add, passWeek, found } = resolving;
    await add(twin, twin);
    await passWeek();
    await add(twin);
    await client.updateDomain({ domainName: "shop", matching: { enabled: false } });
    expect(await refusalOf(client.getMatches({ domainName: "shop" }))).toBe(
      "MATCHING_DISABLED: Identity resolution is not enabled in domain shop",
    );
    await app.jobs.idle();
    expect(await leftIn(resolving)).toEqual(["resolution_jobs"]);
    expect((await jobsOf(resolving)).map(({ status }) => status)).toEqual(["COMPLETED"]);
    await client.updateDomain({ domainName: "shop", matching: { enabled: true } });
    expect(await found()).toEqual([]);
    await passWeek();
    expect(await found()).toMatchObject([[expect.stringMatching(/^\w{32},\w{32},\w{32}$/), 0.8]]);
  });

  test("with its domain leaves nothing", async () => {
    const resolving = await startResolving();
    const { client, app, add, passWeek } = resolving;
    await add(twin, twin);
    await passWeek();
    await client.deleteDomain({ domainName: "shop" });
    await app.jobs.idle();
    expect(await leftIn(resolving)).toEqual([]);
    expect(await brokenInvariants(resolving.store)).toEqual([]);
  });
});

test("jobs that have expired are removed", async () => {
  const resolving = await startResolving();
  for (let week = 0; week < 8; week += 1) await resolving.passWeek();
  const jobs = await jobsOf(resolving);
  expect(jobs.map(({ status }) => status)).toEqual(["PENDING", ...Array.from({ length: 5 }, () => "COMPLETED")]);
});

const count = rounds(60, 300);

test(`after ${count} random changes, what was found week by week is what is found of all at once`, async () => {
  const { client, app, add, passWeek, found, store } = await startResolving();
  const random = randomFrom(7);
  const person = () => ({
    emailAddress: random.one(["a@x.org", "b@x.org", "c@x.org", "d@x.org", undefined]),
    phoneNumber: random.one(["1122", "3344", "5566", undefined]),
    firstName: random.one(["Ana", "Anna", "Ben"]),
    lastName: random.one(["Sol", "Lind"]),
    birthDate: random.one(["1980-07-12", "2004-01-30", undefined]),
  });
  let ids: string[] = [];
  for (let step = 0; step < count; step += 1) {
    const profileId = ids.length < 6 ? undefined : random.one(ids);
    const choice = random.below(20);
    if (profileId === undefined || choice < 8) ids.push(...(await add(person())));
    else if (choice < 14) await client.updateProfile({ domainName: "shop", profileId, ...person() });
    else ids = await removeOne(client, ids, profileId, choice < 17);
    if (random.below(5) === 0) await passWeek();
  }
  await passWeek();
  const weekly = await found();
  expect(weekly.length).toBeGreaterThan(0);
  expect(await brokenInvariants(store)).toEqual([]);
  await client.updateDomain({ domainName: "shop", matching: { enabled: false } });
  await client.updateDomain({ domainName: "shop", matching: { enabled: true } });
  await app.jobs.idle();
  await passWeek();
  expect(await found()).toEqual(weekly);
});
