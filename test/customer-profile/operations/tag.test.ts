import { describe, expect, test } from "vitest";

import { refusalOf, startHarness } from "../harness.ts";

const resourceArn = "arn:aws:profile:us-east-1:000000000000:domains/shop";

describe("tags of a domain", () => {
  test("are added, replaced, removed and listed, under any partition", async () => {
    const { client } = await startHarness();
    await client.createDomain({ domainName: "shop", defaultExpirationDays: 30, tags: { team: "crm" } });
    await client.tagResource({ resourceArn, tags: { team: "sales", stage: "" } });
    expect((await client.listTagsForResource({ resourceArn })).tags).toEqual({ team: "sales", stage: "" });
    const documented = "arn:svc:profile:us-east-1:000000000000:domains/shop";
    await client.untagResource({ resourceArn: documented, tagKeys: ["team", "none"] });
    expect((await client.listTagsForResource({ resourceArn: documented })).tags).toEqual({ stage: "" });
    expect((await client.getDomain({ domainName: "shop" })).tags).toEqual({ stage: "" });
  });

  test("are at most 50", async () => {
    const { client } = await startHarness();
    const tags = Object.fromEntries(Array.from({ length: 49 }, (_, index) => [`t${index}`, "1"]));
    await client.createDomain({ domainName: "shop", defaultExpirationDays: 30, tags });
    expect(await refusalOf(client.tagResource({ resourceArn, tags: { t0: "2", t49: "1" } }))).toBe("answered");
    expect(await refusalOf(client.tagResource({ resourceArn, tags: { t0: "3", t50: "1" } }))).toBe(
      "TOO_MANY_TAGS: A resource can have at most 50 tags",
    );
    expect((await client.listTagsForResource({ resourceArn })).tags["t0"]).toBe("2");
  });
});

describe("tagResource refuses", () => {
  test.each([
    // name, tags, refusal
    [
      "arn:aws:profile:us-east-1:000000000000:segments/x",
      { "aws:a": "1" },
      "RESOURCE_ARN_INVALID: arn:aws:profile:us-east-1:000000000000:segments/x is not the ARN of a domain, an object type or an integration",
    ],
    [
      "arn:aws:profile:us-east-1:111111111111:domains/shop",
      { "aws:a": "1" },
      "ACCESS_DENIED: The caller is not authorized to perform customer-profile:TagResource on arn:aws:profile:us-east-1:111111111111:domains/shop",
    ],
    [resourceArn, { "aws:a": "1" }, "TAG_KEY_RESERVED: The tag key aws:a begins with a reserved prefix"],
    [resourceArn, { a: "1" }, `RESOURCE_NOT_FOUND: Resource ${resourceArn} does not exist`],
  ])("the tags of %s to become %o", async (name, tags, refusal) => {
    const { client } = await startHarness();
    expect(await refusalOf(client.tagResource({ resourceArn: name, tags }))).toBe(refusal);
  });
});

test("untagResource and listTagsForResource refuse a resource that is not there", async () => {
  const { client } = await startHarness();
  const gone = `RESOURCE_NOT_FOUND: Resource ${resourceArn} does not exist`;
  expect(await refusalOf(client.untagResource({ resourceArn, tagKeys: ["a"] }))).toBe(gone);
  expect(await refusalOf(client.listTagsForResource({ resourceArn }))).toBe(gone);
});
