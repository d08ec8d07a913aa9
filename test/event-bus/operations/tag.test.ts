import { describe, expect, test } from "vitest";

import { refusalOf, startHarness } from "../harness.ts";

const prefix = "arn:aws:events:us-east-1:000000000000";

/** Tags with keys k0, k1, and so on. */
const numberedTags = (count: number) => Array.from({ length: count }, (_, index) => ({ key: `k${index}`, value: "" }));

describe("tags", () => {
  test("of buses and rules are added, replaced, removed and listed by key", async () => {
    const { client } = await startHarness({ works: false });
    await client.createEventBus({ name: "orders", tags: [{ key: "b", value: "1" }] });
    await client.putRule({ name: "all", eventBusName: "orders", eventPattern: '{"source":["shop"]}' });
    for (const resourceArn of [`${prefix}:event-bus/orders`, `${prefix}:rule/orders/all`]) {
      await client.tagResource({
        resourceArn,
        tags: [
          { key: "c", value: "" },
          { key: "b", value: "2" },
          { key: "a", value: "3" },
        ],
      });
      await client.untagResource({ resourceArn, tagKeys: ["c", "z"] });
      const { tags } = await client.listTagsForResource({ resourceArn });
      expect(tags.map(({ key, value }) => `${key}=${value}`)).toEqual(["a=3", "b=2"]);
    }
  });

  test("of a new rule are kept, and those of an update are ignored", async () => {
    const { client } = await startHarness({ works: false });
    const rule = { name: "all", eventPattern: '{"source":["shop"]}' };
    await client.putRule({ ...rule, tags: [{ key: "a", value: "1" }] });
    await client.putRule({ ...rule, tags: [{ key: "b", value: "2" }] });
    const { tags } = await client.listTagsForResource({ resourceArn: `${prefix}:rule/all` });
    expect(tags.map(({ key }) => key)).toEqual(["a"]);
  });

  // resource | refusal
  test.each([
    ["orders", "PARAMETER_REFUSED: Parameter ResourceARN is not valid. Reason: Provided Arn is not in correct format."],
    [
      `${prefix}:archive/x`,
      "PARAMETER_REFUSED: Parameter ResourceARN is not valid. Reason: Provided Arn is not in correct format.",
    ],
    [
      "arn:aws:events:us-east-1:111111111111:event-bus/default",
      "TAGGED_RESOURCE_NOT_FOUND: Event bus default does not exist.",
    ],
    [`${prefix}:event-bus/gone`, "TAGGED_RESOURCE_NOT_FOUND: Event bus gone does not exist."],
    [`${prefix}:rule/gone`, "TAGGED_RESOURCE_NOT_FOUND: Rule gone does not exist on EventBus default."],
    [`${prefix}:rule/orders/gone`, "TAGGED_RESOURCE_NOT_FOUND: Rule gone does not exist on EventBus orders."],
    [`${prefix}:event-bus/default`, "answered"],
  ])("of the resource %s end as %s", async (resourceArn, refusal) => {
    const { client } = await startHarness({ works: false });
    const tags = [{ key: "a", value: "1" }];
    expect(await refusalOf(client.tagResource({ resourceArn, tags }))).toBe(refusal);
    expect(await refusalOf(client.untagResource({ resourceArn, tagKeys: ["a"] }))).toBe(refusal);
    expect(await refusalOf(client.listTagsForResource({ resourceArn }))).toBe(refusal);
  });

  test("may have empty values, which are listed also where none was given", async () => {
    const { client } = await startHarness({ works: false });
    const resourceArn = `${prefix}:event-bus/default`;
    await client.tagResource({ resourceArn, tags: [{ key: "a", value: "" }, { key: "b" }] });
    const { tags } = await client.listTagsForResource({ resourceArn });
    expect(tags.map(({ key, value }) => [key, value])).toEqual([
      ["a", ""],
      ["b", ""],
    ]);
  });

  test("are refused with a reserved key", async () => {
    const { client } = await startHarness({ works: false });
    const tags = [{ key: "AWS:owner", value: "x" }];
    const refusal = "PARAMETER_REFUSED: Parameter Tags is not valid. Reason: Keys that begin with aws: are reserved.";
    expect(await refusalOf(client.tagResource({ resourceArn: `${prefix}:event-bus/default`, tags }))).toBe(refusal);
    expect(await refusalOf(client.createEventBus({ name: "orders", tags }))).toBe(refusal);
    expect(await refusalOf(client.putRule({ name: "all", eventPattern: '{"source":["x"]}', tags }))).toBe(refusal);
  });

  test("are refused with a key given twice, and beyond fifty", async () => {
    const { client } = await startHarness({ works: false });
    const resourceArn = `${prefix}:event-bus/default`;
    expect(await refusalOf(client.tagResource({ resourceArn, tags: [...numberedTags(1), ...numberedTags(1)] }))).toBe(
      "DUPLICATE_ENTRY: Duplicate tag key k0.",
    );
    await client.tagResource({ resourceArn, tags: numberedTags(50) });
    expect(await refusalOf(client.tagResource({ resourceArn, tags: numberedTags(50) }))).toBe("answered");
    expect(await refusalOf(client.tagResource({ resourceArn, tags: numberedTags(51) }))).toBe(
      "TAGS_EXCEEDED: A resource can have up to 50 tags.",
    );
  });
});
