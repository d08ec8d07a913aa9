import { describe, expect, test } from "vitest";

import { changingKeys } from "../../../support/changing-keys.ts";
import { eventually } from "../../../support/eventually.ts";
import { rounds } from "../../../support/rounds.ts";
import { countsOf } from "../../database.ts";
import { brokenInvariants } from "../../invariants.ts";
import { randomFrom } from "../../random.ts";
import { refusalOf } from "../../harness.ts";
import { removeOne, together } from "./resolving.ts";
import { ruling, startRuling } from "./ruling.ts";

const statusOf = async ({ client }: Pick<Awaited<ReturnType<typeof startRuling>>, "client">) =>
  (await client.getDomain({ domainName: "shop" })).ruleBasedMatching?.status;

const ana = { firstName: "Ana", lastName: "Sol" };

describe("rules", () => {
  test("find the profiles that are put and changed, by the first rule that holds", async () => {
    const { client, add, settle, found } = await startRuling(ruling(["AccountNumber", "FirstName LastName"]));
    const [one, two, three, four] = await add(
      { ...ana, accountNumber: "7" },
      { accountNumber: "7" },
      { firstName: "ANA", lastName: "Sol" },
      { firstName: "Ben", lastName: "Sol" },
    );
    await settle();
    expect(await found()).toEqual([[2, together(one, two, three)]]);
    await client.updateProfile({ domainName: "shop", profileId: three!, firstName: "Eva" });
    await settle();
    expect(await found()).toEqual([[1, together(one, two)]]);
    await client.updateProfile({ domainName: "shop", profileId: four!, accountNumber: "7" });
    await settle();
    expect(await found()).toEqual([[1, together(one, two, four)]]);
  });

  test("are applied to what was stored before, and say how far they are", async () => {
    const harness = await startRuling({ enabled: false });
    const { client, add, settle, found } = harness;
    const ids = await add(...Array.from({ length: 3 }, () => ({ accountNumber: "7" })), { accountNumber: "8" });
    expect(await statusOf(harness)).toBeUndefined();
    const { ruleBasedMatching } = await client.updateDomain({
      domainName: "shop",
      ruleBasedMatching: ruling(["AccountNumber"]),
    });
    expect(ruleBasedMatching?.status).toBe("PENDING");
    await settle();
    expect(await statusOf(harness)).toBe("ACTIVE");
    expect(await found()).toEqual([[1, together(...ids.slice(0, 3))]]);
  });

  test("that are put again change nothing, and others begin anew", async () => {
    const harness = await startRuling(ruling(["AccountNumber"]));
    const { client, add, settle, found, store } = harness;
    const [one, two, three] = await add({ ...ana, accountNumber: "7" }, { accountNumber: "7" }, ana);
    await settle();
    const again = await client.updateDomain({ domainName: "shop", ruleBasedMatching: ruling(["AccountNumber"]) });
    expect(again.ruleBasedMatching?.status).toBe("ACTIVE");
    expect(await found()).toEqual([[1, together(one, two)]]);
    await client.updateDomain({ domainName: "shop", ruleBasedMatching: ruling(["LastName"]) });
    expect(await found()).toEqual([]);
    await settle();
    expect(await found()).toEqual([[1, together(one, three)]]);
    await client.updateDomain({ domainName: "shop", ruleBasedMatching: { enabled: false } });
    await harness.app.jobs.idle();
    expect(Object.keys(await countsOf(store)).filter((name) => /^(?:resolution|match|rule)/.test(name))).toEqual([]);
  });

  test("let go of a profile that is deleted, merged or expired", async () => {
    const { client, clock, add, settle, found } = await startRuling(ruling(["AccountNumber"]));
    const same = { accountNumber: "7" };
    const [one, two, three, four] = await add(same, same, same, same);
    await settle();
    await client.deleteProfile({ domainName: "shop", profileId: one! });
    expect(await found()).toEqual([[1, together(two, three, four)]]);
    await client.mergeProfiles({ domainName: "shop", mainProfileId: two!, profileIdsToBeMerged: [three!] });
    expect(await found()).toEqual([[1, together(two, four)]]);
    await settle();
    expect(await found()).toEqual([[1, together(two, four)]]);
    clock.advance(1_001 * 24 * 60 * 60 * 1_000);
    expect(await found()).toEqual([]);
  });

  test("up to a level merge what they find, into the oldest, with the most recent values", async () => {
    const { client, clock, add, settle, found } = await startRuling(
      ruling(["AccountNumber", "LastName"], { maxAllowedRuleLevelForMerging: 1 }),
    );
    const [one] = await add({ ...ana, accountNumber: "7" });
    clock.advance(1);
    const [two] = await add({ firstName: "Anna", accountNumber: "7" });
    const [three] = await add({ lastName: "Sol" });
    await settle();
    expect(await found()).toEqual([[2, together(one, three)]]);
    const search = { domainName: "shop", keyName: "_account", values: ["7"] };
    const { items } = await client.searchProfiles(search);
    expect(items).toMatchObject([{ profileId: one, firstName: "Anna", lastName: "Sol" }]);
    expect(items.some(({ profileId }) => profileId === two)).toBe(false);
  });

  test("are applied after a restart to what was noted before it", async () => {
    const first = await startRuling(ruling(["AccountNumber"]), { works: false });
    const ids = await first.add({ accountNumber: "7" }, { accountNumber: "7" });
    await first.stop();
    const { directory, clock } = first;
    const second = await startRuling({ enabled: false }, { directory, clock });
    await second.settle();
    expect(await second.found()).toEqual([[1, together(...ids)]]);
  });

  test("wait while the domain's key cannot be used, and hold up no other domain", async () => {
    const keys = changingKeys();
    keys.declare({ id: "shop-key" });
    const harness = await startRuling(ruling(["AccountNumber"]), { keyNames: keys.names });
    const { client, clock, add, settle, found } = harness;
    await client.createDomain({
      domainName: "sealed",
      defaultExpirationDays: 1_000,
      defaultEncryptionKey: "shop-key",
      ruleBasedMatching: ruling(["AccountNumber"]),
    });
    await settle();
    const seal = async (accountNumber: string) =>
      (await client.createProfile({ domainName: "sealed", accountNumber })).profileId;
    await seal("7");
    await seal("7");
    keys.declare({ id: "shop-key", state: "DISABLED" });
    const ids = await add({ accountNumber: "7" }, { accountNumber: "7" });
    await eventually(async () => {
      clock.advance(1_000);
      return (await found()).length === 1 ? true : undefined;
    }, "the other domain is compared");
    expect(await found()).toEqual([[1, together(...ids)]]);
    const sealed = () => client.listRuleBasedMatches({ domainName: "sealed" });
    expect((await sealed()).matchIds).toEqual([]);
    keys.declare({ id: "shop-key" });
    clock.advance(5 * 60 * 1_000);
    await settle();
    expect((await sealed()).matchIds).toHaveLength(1);
  });

  test("find nothing by a value that more than 21 profiles have", async () => {
    const { add, settle, found } = await startRuling(ruling(["LastName"]));
    await add(...Array.from({ length: 22 }, () => ({ lastName: "Sol" })));
    await settle();
    expect((await found()).every(([, ids]) => ids.split(",").length <= 21)).toBe(true);
  });

  test("are applied to nothing while the disk is low", async () => {
    let isLow = true;
    const { add, settle, found, clock } = await startRuling(ruling(["AccountNumber"]), { isDiskLow: () => isLow });
    const ids = await add({ accountNumber: "7" }, { accountNumber: "7" });
    clock.advance(1_000);
    expect(await found()).toEqual([]);
    isLow = false;
    await settle();
    expect(await found()).toEqual([[1, together(...ids)]]);
  });
});

const count = rounds(80, 600);

test(`after ${count} random changes, what rules have found is what they find of all at once`, async () => {
  const rules = ruling(["AccountNumber", "EmailAddress LastName", "PhoneNumber FirstName", "Address.City LastName"], {
    attributeTypesSelector: { attributeMatchingModel: "MANY_TO_MANY" },
  });
  const { client, add, settle, found, store } = await startRuling(rules);
  const random = randomFrom(11);
  const person = () => ({
    accountNumber: random.one(["7", "8", "9", ""]),
    emailAddress: random.one(["a@x.org", "b@x.org", ""]),
    businessEmailAddress: random.one(["a@x.org", "c@x.org", ""]),
    homePhoneNumber: random.one(["1122", "3344", ""]),
    firstName: random.one(["Ana", "Ben", "Eva"]),
    lastName: random.one(["Sol", "Lind", ""]),
    address: { city: random.one(["Ulm", "Bonn", ""]) },
  });
  /** A profile is created without what an update would empty. */
  const newPerson = () => {
    const { address, ...texts } = person();
    const said = Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ""));
    return address.city === "" ? said : { ...said, address };
  };
  let ids: string[] = [];
  for (let step = 0; step < count; step += 1) {
    const profileId = ids.length < 6 ? undefined : random.one(ids);
    const choice = random.below(20);
    if (profileId === undefined || (choice < 7 && ids.length < 16)) ids.push(...(await add(newPerson())));
    else if (choice < 14) await client.updateProfile({ domainName: "shop", profileId, ...person() });
    else ids = await removeOne(client, ids, profileId, choice < 17);
    if (random.below(5) === 0) await settle();
  }
  await settle();
  const bySteps = await found();
  expect(bySteps.length).toBeGreaterThan(0);
  expect(await brokenInvariants(store)).toEqual([]);
  await client.updateDomain({ domainName: "shop", ruleBasedMatching: { enabled: false } });
  expect(await refusalOf(client.listRuleBasedMatches({ domainName: "shop" }))).toBe(
    "RULES_DISABLED: Matching by rules is not enabled in domain shop",
  );
  await client.updateDomain({ domainName: "shop", ruleBasedMatching: rules });
  await settle();
  expect(await found()).toEqual(bySteps);
});
