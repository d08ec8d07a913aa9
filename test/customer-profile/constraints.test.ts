import { describe, expect, test } from "vitest";

import { refusalOf, startHarness } from "./harness.ts";
import type { ProfileClient } from "./harness.ts";

const id = "0123456789abcdef0123456789abcdef";
const of = (length: number) => "x".repeat(length);
const tags = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "v"]));
const domain = { domainName: "none" };
const create = { ...domain, defaultExpirationDays: 1 };
const update = { ...domain, profileId: id };
const key = { ...update, keyName: "k", values: ["v"] };
const search = { ...domain, keyName: "k", values: ["v"] };
const more = (count: number) => Array.from({ length: count }, () => ({ keyName: "k", values: ["v"] }));
const arn = "arn:aws:profile:us-east-1:000000000000:domains/none";

/** Just inside each limit, and just outside. */
const rows: [operation: keyof ProfileClient, inside: object, outside: object][] = [
  ["getDomain", { domainName: of(64) }, { domainName: of(65) }],
  ["getDomain", { domainName: "aZ09_-" }, { domainName: "a.b" }],
  ["getDomain", { domainName: "a" }, { domainName: "" }],
  ["createDomain", { ...create, defaultExpirationDays: 1 }, { ...create, defaultExpirationDays: 0 }],
  ["createDomain", { ...create, defaultExpirationDays: 1098 }, { ...create, defaultExpirationDays: 1099 }],
  ["createDomain", create, domain],
  ["createDomain", { ...create, defaultEncryptionKey: of(255) }, { ...create, defaultEncryptionKey: of(256) }],
  ["createDomain", { ...create, defaultEncryptionKey: "" }, { ...create, defaultEncryptionKey: of(256) }],
  ["createDomain", { ...create, deadLetterQueueUrl: of(255) }, { ...create, deadLetterQueueUrl: of(256) }],
  ["createDomain", { ...create, tags: tags(50) }, { ...create, tags: tags(51) }],
  ["createDomain", { ...create, tags: { [of(128)]: of(256) } }, { ...create, tags: { [of(129)]: "" } }],
  ["createDomain", { ...create, tags: { "a+,-./:;<=_9": "" } }, { ...create, tags: { "a b": "" } }],
  ["createDomain", { ...create, tags: { a: "" } }, { ...create, tags: { a: of(257) } }],
  ["createDomain", { ...create, matching: { enabled: true } }, { ...create, matching: {} }],
  ["updateDomain", { ...domain, defaultExpirationDays: 1098 }, { ...domain, defaultExpirationDays: 1099 }],
  ["updateDomain", { ...domain, deadLetterQueueUrl: "" }, { ...domain, deadLetterQueueUrl: of(256) }],
  ["listDomains", { maxResults: 1 }, { maxResults: 0 }],
  ["listDomains", { maxResults: 100 }, { maxResults: 101 }],
  ["listDomains", { nextToken: of(1024) }, { nextToken: of(1025) }],
  ["createProfile", { ...domain, firstName: of(255) }, { ...domain, firstName: of(256) }],
  ["createProfile", { ...domain, firstName: "é".repeat(255) }, { ...domain, firstName: "" }],
  ["createProfile", { ...domain, birthDate: "07/12/1980-updated" }, { ...domain, birthDate: "" }],
  ["createProfile", { ...domain, additionalInformation: of(1000) }, { ...domain, additionalInformation: of(1001) }],
  ["createProfile", { ...domain, partyType: "BUSINESS" }, { ...domain, partyType: "business" }],
  ["createProfile", { ...domain, gender: "UNSPECIFIED" }, { ...domain, gender: "" }],
  ["createProfile", { ...domain, address: { city: of(255) } }, { ...domain, address: { city: of(256) } }],
  ["createProfile", { ...domain, address: {} }, { ...domain, address: { address4: "" } }],
  ["createProfile", { ...domain, attributes: { [of(255)]: of(255) } }, { ...domain, attributes: { [of(256)]: "a" } }],
  ["createProfile", { ...domain, attributes: { a: "b" } }, { ...domain, attributes: { a: "" } }],
  ["createProfile", { ...domain, attributes: { a: "b" } }, { ...domain, attributes: { a: of(256) } }],
  ["updateProfile", { ...update, firstName: "" }, { ...update, firstName: of(256) }],
  ["updateProfile", { ...update, partyType: "" }, { ...update, partyType: "NONE" }],
  ["updateProfile", { ...update, gender: "" }, { ...update, gender: "NONE" }],
  ["updateProfile", { ...update, address: { city: "" } }, { ...update, address: { city: of(256) } }],
  ["updateProfile", { ...update, attributes: { a: "" } }, { ...update, attributes: { "": "b" } }],
  ["updateProfile", { ...update, additionalInformation: "" }, { ...update, additionalInformation: of(1001) }],
  ["updateProfile", update, { ...update, profileId: id.toUpperCase() }],
  ["deleteProfile", update, { ...update, profileId: `${id}0` }],
  ["deleteProfile", update, domain],
  ["addProfileKey", { ...key, keyName: of(64) }, { ...key, keyName: of(65) }],
  ["addProfileKey", { ...key, values: [of(255)] }, { ...key, values: [of(256)] }],
  ["addProfileKey", key, { ...key, values: [] }],
  ["deleteProfileKey", key, { ...key, values: [""] }],
  ["deleteProfileKey", { ...key, keyName: "_email" }, { ...key, keyName: "a b" }],
  ["searchProfiles", search, { ...search, keyName: "" }],
  ["searchProfiles", search, { ...search, values: [] }],
  ["searchProfiles", { ...search, maxResults: 100 }, { ...search, maxResults: 101 }],
  ["searchProfiles", { ...search, additionalSearchKeys: more(4) }, { ...search, additionalSearchKeys: more(5) }],
  ["searchProfiles", { ...search, logicalOperator: "AND" }, { ...search, logicalOperator: "XOR" }],
  ["tagResource", { resourceArn: arn, tags: { a: "" } }, { resourceArn: arn, tags: {} }],
  [
    "tagResource",
    { resourceArn: arn.padEnd(256, "x"), tags: { a: "" } },
    { resourceArn: arn.padEnd(257, "x"), tags: { a: "" } },
  ],
  ["listTagsForResource", { resourceArn: arn }, { resourceArn: "arn:aws:s3:::photos" }],
  ["listTagsForResource", { resourceArn: arn }, { resourceArn: arn.replace("aws", "a-b") }],
  [
    "untagResource",
    { resourceArn: arn, tagKeys: Object.keys(tags(50)) },
    { resourceArn: arn, tagKeys: Object.keys(tags(51)) },
  ],
  ["untagResource", { resourceArn: arn, tagKeys: ["a"] }, { resourceArn: arn, tagKeys: [] }],
];

describe("each limit holds at its edge", () => {
  test("over all operations", async () => {
    const { client } = await startHarness();
    const call = async (operation: keyof ProfileClient, request: object) =>
      (await refusalOf((client[operation] as (request: object) => Promise<unknown>)(request))).split(":")[0];
    for (const [operation, inside, outside] of rows) {
      expect([operation, inside, await call(operation, inside)]).not.toContain("INVALID_INPUT");
      expect([operation, outside, await call(operation, outside)]).toContain("INVALID_INPUT");
    }
  });
});

test("a refused member is named, and personal data is not repeated", async () => {
  const { client } = await startHarness();
  expect(await refusalOf(client.getDomain({ domainName: "a.b" }))).toBe(
    "INVALID_INPUT: 1 validation error detected: Value 'a.b' at 'domain_name' failed to satisfy constraint: " +
      "Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
  );
  const told = await refusalOf(
    client.createProfile({ domainName: "shop", partyType: "Ann", address: { city: of(256) } }),
  );
  expect(told).toContain("2 validation errors detected");
  expect(told).toContain("at 'address.city'");
  expect(told).not.toContain("Ann");
  expect(told).not.toContain("xxx");
});
