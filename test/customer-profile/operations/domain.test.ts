import { describe, expect, test } from "vitest";

import { refusalOf, startHarness } from "../harness.ts";

const days = { defaultExpirationDays: 30 };

describe("createDomain", () => {
  test("answers what was made, and getDomain tells the same with empty statistics", async () => {
    const { client } = await startHarness();
    const made = await client.createDomain({
      domainName: "shop",
      defaultExpirationDays: 366,
      defaultEncryptionKey: "alias/crm",
      deadLetterQueueUrl: "https://queue.example/000000000000/errors",
      tags: { team: "crm" },
      matching: { enabled: true, jobSchedule: { dayOfTheWeek: "MONDAY", time: "12:00" } },
      ruleBasedMatching: { enabled: true, matchingRules: [{ rule: ["AccountNumber"] }] },
      dataStore: { enabled: false },
    });
    const expected = {
      domainName: "shop",
      defaultExpirationDays: 366,
      defaultEncryptionKey: "alias/crm",
      deadLetterQueueUrl: "https://queue.example/000000000000/errors",
      tags: { team: "crm" },
      matching: { enabled: true, jobSchedule: { dayOfTheWeek: "MONDAY", time: "12:00" } },
      ruleBasedMatching: { enabled: true, matchingRules: [{ rule: ["AccountNumber"] }], status: "PENDING" },
      dataStore: { enabled: false },
      createdAt: { seconds: 1_767_323_045n },
      lastUpdatedAt: { seconds: 1_767_323_045n },
    };
    expect(made).toMatchObject(expected);
    expect(await client.getDomain({ domainName: "shop" })).toMatchObject({
      ...expected,
      stats: { profileCount: 0n, meteringProfileCount: 0n, objectCount: 0n, totalSize: 0n },
    });
  });

  test("leaves out what was not given", async () => {
    const { client } = await startHarness();
    const made = await client.createDomain({ domainName: "shop", ...days });
    expect(made.defaultEncryptionKey).toBeUndefined();
    expect(made.deadLetterQueueUrl).toBeUndefined();
    expect(made.matching).toBeUndefined();
    expect(made.tags).toEqual({});
  });

  test("refuses, in this order", async () => {
    const { client } = await startHarness();
    const create = (name: string, tags: Record<string, string>, deadLetterQueueUrl = "") =>
      refusalOf(client.createDomain({ domainName: name, ...days, tags, deadLetterQueueUrl }));
    for (let index = 0; index < 99; index += 1) await client.createDomain({ domainName: `d${index}`, ...days });
    expect(await create("d100", { a: "1" })).toBe("answered");
    expect(await create("d1", { "aws:a": "1" }, "errors")).toBe(
      "TAG_KEY_RESERVED: The tag key aws:a begins with a reserved prefix",
    );
    expect(await create("d1", {}, "errors")).toBe(
      "DEAD_LETTER_QUEUE_INVALID: The dead letter queue is not valid: " +
        "it must be the URL of a queue, https://<host>/<account>/<name>",
    );
    expect(await create("d1", {})).toBe("DOMAIN_ALREADY_EXISTS: Domain d1 already exists");
    expect(await create("new", {})).toBe("TOO_MANY_DOMAINS: An account can have at most 100 domains");
  });

  test("makes one domain of two calls at the same time", async () => {
    const { client } = await startHarness();
    const outcomes = await Promise.all(
      [1, 2, 3].map(() => refusalOf(client.createDomain({ domainName: "shop", ...days }))),
    );
    expect(outcomes.toSorted()).toEqual([
      "DOMAIN_ALREADY_EXISTS: Domain shop already exists",
      "DOMAIN_ALREADY_EXISTS: Domain shop already exists",
      "answered",
    ]);
  });

  test("gives each account names of its own", async () => {
    const { client, clientOf } = await startHarness();
    const other = clientOf("111111111111");
    await client.createDomain({ domainName: "shop", ...days });
    expect(await refusalOf(other.getDomain({ domainName: "shop" }))).toBe(
      "DOMAIN_NOT_FOUND: Domain shop does not exist",
    );
    expect(await refusalOf(other.createDomain({ domainName: "shop", ...days }))).toBe("answered");
    expect(await refusalOf(other.deleteDomain({ domainName: "shop" }))).toBe("answered");
    expect(await refusalOf(client.getDomain({ domainName: "shop" }))).toBe("answered");
  });
});

describe("the settings of rules", () => {
  const rules = { matchingRules: [{ rule: ["LastName", "Address.City"] }, { rule: ["PhoneNumber"] }] };
  const selected = (fields: object) => ({
    ...rules,
    attributeTypesSelector: { attributeMatchingModel: "ONE_TO_ONE", ...fields },
  });
  const problems: readonly (readonly [object, string])[] = [
    [{}, "an enabled RuleBasedMatching needs MatchingRules"],
    [{ matchingRules: [{ rule: ["Shoe"] }] }, "MatchingRules names Shoe, which is no attribute of profiles"],
    [
      { ...rules, maxAllowedRuleLevelForMatching: 1, maxAllowedRuleLevelForMerging: 2 },
      "MaxAllowedRuleLevelForMerging is above MaxAllowedRuleLevelForMatching",
    ],
    [selected({ address: ["Home"] }), "AttributeTypesSelector names Home, which is no field of that kind"],
    [
      selected({ phoneNumber: ["EmailAddress"] }),
      "AttributeTypesSelector names EmailAddress, which is no field of that kind",
    ],
    [selected({ emailAddress: ["Address"] }), "AttributeTypesSelector names Address, which is no field of that kind"],
    [
      { ...rules, conflictResolution: { conflictResolvingModel: "SOURCE" } },
      "ConflictResolution by SOURCE needs a SourceName",
    ],
  ];

  test.each(problems)("are refused: %o", async (changes, problem) => {
    const { client } = await startHarness();
    const ruleBasedMatching = { enabled: true, ...changes };
    const refusal = `MATCHING_INVALID: The matching settings are not valid: ${problem}`;
    expect(await refusalOf(client.createDomain({ domainName: "shop", ...days, ruleBasedMatching }))).toBe(refusal);
    expect(await refusalOf(client.updateDomain({ domainName: "none", ruleBasedMatching }))).toBe(refusal);
  });

  test("are answered as they were put, with their status as long as they are applied", async () => {
    const { client } = await startHarness({ works: false });
    const ruleBasedMatching = {
      enabled: true,
      ...selected({ address: ["Address", "MaillingAddress"], phoneNumber: ["HomePhoneNumber"] }),
      maxAllowedRuleLevelForMatching: 2,
      maxAllowedRuleLevelForMerging: 1,
      conflictResolution: { conflictResolvingModel: "SOURCE", sourceName: "order" },
      exportingConfig: { s3Exporting: { s3BucketName: "results" } },
    };
    const put = { ruleBasedMatching: { ...ruleBasedMatching, status: "PENDING" } };
    expect(await client.createDomain({ domainName: "shop", ...days, ruleBasedMatching })).toMatchObject(put);
    expect(await client.getDomain({ domainName: "shop" })).toMatchObject(put);
    expect(await client.updateDomain({ domainName: "shop", tags: { team: "crm" } })).toMatchObject(put);
    const ended = await client.updateDomain({ domainName: "shop", ruleBasedMatching: { enabled: false } });
    expect(ended.ruleBasedMatching).toMatchObject({ enabled: false, matchingRules: [] });
    expect(ended.ruleBasedMatching?.status).toBeUndefined();
  });
});

describe("the settings of identity resolution", () => {
  const source = { autoMerging: { enabled: true, conflictResolution: { conflictResolvingModel: "SOURCE" } } };
  const exporting = { exportingConfig: { s3Exporting: { s3BucketName: "results" } } };
  const problems = [
    [source, "ConflictResolution by SOURCE needs a SourceName"],
    [exporting, "results are not exported to buckets; leave ExportingConfig out and list them with GetMatches"],
  ] as const;

  test.each(problems)("are refused: %o", async (changes, problem) => {
    const { client } = await startHarness();
    const matching = { enabled: true, ...changes };
    const refusal = `MATCHING_INVALID: The matching settings are not valid: ${problem}`;
    expect(await refusalOf(client.createDomain({ domainName: "shop", ...days, matching }))).toBe(refusal);
    expect(await refusalOf(client.updateDomain({ domainName: "none", matching }))).toBe(refusal);
  });

  test("are answered as they were put", async () => {
    const { client } = await startHarness();
    const matching = {
      enabled: true,
      jobSchedule: { dayOfTheWeek: "SUNDAY", time: "03:30" },
      autoMerging: {
        enabled: false,
        consolidation: { matchingAttributesList: [{ items: ["EmailAddress", "LastName"] }] },
        conflictResolution: { conflictResolvingModel: "SOURCE", sourceName: "order" },
        minAllowedConfidenceScoreForMerging: 0.9,
      },
    };
    expect(await client.createDomain({ domainName: "shop", ...days, matching })).toMatchObject({ matching });
    expect(await client.getDomain({ domainName: "shop" })).toMatchObject({ matching });
  });
});

describe("updateDomain", () => {
  test("keeps what is not given, clears what is empty and moves the instant of the last change", async () => {
    const { client, clock } = await startHarness();
    await client.createDomain({
      domainName: "shop",
      ...days,
      defaultEncryptionKey: "alias/crm",
      deadLetterQueueUrl: "https://queue.example/000000000000/errors",
      tags: { team: "crm" },
      matching: { enabled: false },
    });
    clock.advance(1_000);
    const cleared = await client.updateDomain({
      domainName: "shop",
      deadLetterQueueUrl: "",
      defaultExpirationDays: 31,
    });
    expect(cleared).toMatchObject({
      defaultExpirationDays: 31,
      defaultEncryptionKey: "alias/crm",
      tags: { team: "crm" },
      matching: { enabled: false },
      createdAt: { seconds: 1_767_323_045n },
      lastUpdatedAt: { seconds: 1_767_323_046n },
    });
    expect(cleared.deadLetterQueueUrl).toBeUndefined();
    expect((await client.updateDomain({ domainName: "shop", tags: { owner: "ann" } })).tags).toEqual({ owner: "ann" });
  });

  test("keeps profiles readable under another encryption key", async () => {
    const { client } = await startHarness();
    await client.createDomain({ domainName: "shop", ...days });
    await client.createProfile({ domainName: "shop", accountNumber: "A-1", firstName: "Ann" });
    for (const defaultEncryptionKey of ["alias/new", "alias/newer", ""]) {
      await client.updateDomain({ domainName: "shop", defaultEncryptionKey });
      const found = await client.searchProfiles({ domainName: "shop", keyName: "_account", values: ["A-1"] });
      expect(found.items.map((profile) => profile.firstName)).toEqual(["Ann"]);
    }
  });

  test.each([
    [
      "reserved tag keys",
      { domainName: "none", tags: { "svc:a": "1" } },
      "TAG_KEY_RESERVED: The tag key svc:a begins with a reserved prefix",
    ],
    ["a domain that is not there", { domainName: "none" }, "DOMAIN_NOT_FOUND: Domain none does not exist"],
  ])("refuses %s", async (_what, request, refusal) => {
    const { client } = await startHarness();
    expect(await refusalOf(client.updateDomain(request))).toBe(refusal);
  });
});

describe("deleteDomain", () => {
  test("hides the domain at once, and a second call is refused", async () => {
    const { client } = await startHarness({ works: false });
    await client.createDomain({ domainName: "shop", ...days });
    expect((await client.deleteDomain({ domainName: "shop" })).message).toBe("OK");
    const gone = "DOMAIN_NOT_FOUND: Domain shop does not exist";
    expect(await refusalOf(client.getDomain({ domainName: "shop" }))).toBe(gone);
    expect(await refusalOf(client.createProfile({ domainName: "shop" }))).toBe(gone);
    expect(await refusalOf(client.searchProfiles({ domainName: "shop", keyName: "_account", values: ["1"] }))).toBe(
      gone,
    );
    expect(await refusalOf(client.deleteDomain({ domainName: "shop" }))).toBe(gone);
    expect((await client.listDomains({})).items).toEqual([]);
  });

  test("lets a domain of the same name be made, new and empty, before the removal has run", async () => {
    const { client } = await startHarness({ works: false });
    await client.createDomain({ domainName: "shop", ...days, tags: { team: "crm" } });
    const { profileId } = await client.createProfile({ domainName: "shop", accountNumber: "A-1" });
    await client.deleteDomain({ domainName: "shop" });
    await client.createDomain({ domainName: "shop", ...days });
    const search = { domainName: "shop", keyName: "_account", values: ["A-1"] };
    expect((await client.searchProfiles(search)).items).toEqual([]);
    expect(await refusalOf(client.deleteProfile({ domainName: "shop", profileId }))).toBe(
      `PROFILE_NOT_FOUND: Profile ${profileId} does not exist`,
    );
    expect(await client.getDomain({ domainName: "shop" })).toMatchObject({ tags: {}, stats: { profileCount: 0n } });
  });
});

describe("listDomains", () => {
  test("lists by name in pages, with a token as long as there are more", async () => {
    const { client } = await startHarness();
    for (const domainName of ["c", "a", "b", "B", "d"]) await client.createDomain({ domainName, ...days });
    const first = await client.listDomains({ maxResults: 2 });
    expect(first.items.map((item) => item.domainName)).toEqual(["B", "a"]);
    const second = await client.listDomains({ maxResults: 2, nextToken: first.nextToken });
    expect(second.items.map((item) => item.domainName)).toEqual(["b", "c"]);
    const third = await client.listDomains({ maxResults: 2, nextToken: second.nextToken });
    expect(third.items.map((item) => item.domainName)).toEqual(["d"]);
    expect(third.nextToken).toBeUndefined();
    expect((await client.listDomains({ maxResults: 5 })).nextToken).toBeUndefined();
  });

  test("refuses a token that is not its own", async () => {
    const { client, clientOf } = await startHarness();
    for (const domainName of ["a", "b"]) await client.createDomain({ domainName, ...days });
    const { nextToken } = await client.listDomains({ maxResults: 1 });
    const refusal = "INVALID_PAGE_TOKEN: The value of NextToken is not a token of this listing";
    expect(await refusalOf(client.listDomains({ nextToken: "bm90IG1pbmU=" }))).toBe(refusal);
    expect(await refusalOf(clientOf("111111111111").listDomains({ nextToken }))).toBe(refusal);
  });
});

test("an anonymous caller may do nothing", async () => {
  const { clientOf } = await startHarness();
  const nobody = clientOf("");
  expect(await refusalOf(nobody.listDomains({}))).toBe(
    "ACCESS_DENIED: The caller is not authorized to perform customer-profile:ListDomains on *",
  );
  expect(await refusalOf(nobody.createDomain({ domainName: "shop", ...days }))).toBe(
    "ACCESS_DENIED: The caller is not authorized to perform customer-profile:CreateDomain on *",
  );
});
