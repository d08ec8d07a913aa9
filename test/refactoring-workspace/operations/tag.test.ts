import { describe, expect, test } from "vitest";

import { RouteActivationState } from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import { makeApplication, makeDefaultRoute, makeService, refusalOf, startHarness } from "../harness.ts";

const startTagged = async () => {
  const harness = await startHarness();
  const { client } = harness;
  const place = await makeApplication(client);
  const { environmentIdentifier, applicationIdentifier } = place;
  const serviceIdentifier = await makeService(client, place, "http://127.0.0.1");
  const routeIdentifier = await makeDefaultRoute(client, place, serviceIdentifier, RouteActivationState.INACTIVE);
  const environment = `arn:aws:refactor-spaces:us-east-1:000000000000:environment/${environmentIdentifier}`;
  const application = `${environment}/application/${applicationIdentifier}`;
  const names = [
    environment,
    application,
    `${application}/service/${serviceIdentifier}`,
    `${application}/route/${routeIdentifier}`,
  ];
  return { ...harness, place, environment, names, serviceIdentifier, routeIdentifier };
};

const invalid = (arn: string) => `ARN_INVALID: The ARN ${arn} does not name a resource of this service.`;

describe("tagResource, untagResource and listTagsForResource", () => {
  test("add, change and remove the tags of every kind of resource", async () => {
    const { client, names } = await startTagged();
    for (const resourceArn of names) {
      const list = async () => (await client.listTagsForResource({ resourceArn })).tags?.tags;
      expect(await list()).toEqual({});
      await client.tagResource({ resourceArn, tags: { a: "1", b: "2" } });
      await client.tagResource({ resourceArn, tags: { b: "3", c: "" } });
      expect(await list()).toEqual({ a: "1", b: "3", c: "" });
      await client.untagResource({ resourceArn, tagKeys: ["a", "missing"] });
      await client.untagResource({ resourceArn, tagKeys: ["a"] });
      expect(await list()).toEqual({ b: "3", c: "" });
    }
  });

  test("show in what the resource's own calls tell", async () => {
    const { client, names, place, serviceIdentifier, routeIdentifier } = await startTagged();
    for (const [index, resourceArn] of names.entries())
      await client.tagResource({ resourceArn, tags: { index: String(index) } });
    expect((await client.getEnvironment(place)).tags).toEqual({ index: "0" });
    expect((await client.getApplication(place)).tags).toEqual({ index: "1" });
    expect((await client.getService({ ...place, serviceIdentifier })).tags).toEqual({ index: "2" });
    expect((await client.getRoute({ ...place, routeIdentifier })).tags).toEqual({ index: "3" });
  });

  test("take the documented words of an ARN as well", async () => {
    const { client, environment } = await startTagged();
    await client.tagResource({ resourceArn: environment, tags: { a: "1" } });
    const resourceArn = environment.replace("arn:aws:refactor-spaces:", "arn:svc:refactoring-workspace:");
    expect((await client.listTagsForResource({ resourceArn })).tags?.tags).toEqual({ a: "1" });
  });

  test("refuse, in this order", async () => {
    const { client, clientOf, environment } = await startTagged();
    const tag = (resourceArn: string, tags: Record<string, string>, by = client) =>
      refusalOf(by.tagResource({ resourceArn, tags }));
    for (const arn of [
      "env-0000000000",
      "arn:aws:s3:us-east-1:000000000000:environment/env-0000000000",
      "arn:aws:refactor-spaces:us-east-1:000000000000:environment/env-1",
      "arn:aws:refactor-spaces:us-east-1::environment/env-0000000000",
      `${environment}/application`,
    ])
      expect(await tag(arn, { "aws:a": "" })).toBe(invalid(arn));
    const missing = "arn:aws:refactor-spaces:us-east-1:000000000000:environment/env-0000000000";
    expect(await tag(missing, { "aws:a": "" })).toBe("TAG_KEY_RESERVED: Tag keys that begin with aws: are reserved.");
    expect(await tag(missing, { a: "" })).toBe(`RESOURCE_NOT_FOUND: There is no ENVIRONMENT ${missing}.`);
    // For another account, a foreign resource looks as if it did not exist.
    const other = clientOf("111111111111");
    expect(await tag(environment, { a: "" }, other)).toBe(
      `RESOURCE_NOT_FOUND: There is no ENVIRONMENT ${environment}.`,
    );
    const wrongAccount = environment.replace("000000000000", "111111111111");
    expect(await tag(wrongAccount, { a: "" })).toMatch(/^RESOURCE_NOT_FOUND: /);
    expect(await refusalOf(other.listTagsForResource({ resourceArn: environment }))).toMatch(/^RESOURCE_NOT_FOUND: /);
    expect(await refusalOf(other.untagResource({ resourceArn: environment, tagKeys: ["a"] }))).toMatch(
      /^RESOURCE_NOT_FOUND: /,
    );
    const many = Object.fromEntries(Array.from({ length: 50 }, (_each, index) => [`k${index}`, ""]));
    expect(await tag(environment, many)).toBe("answered");
    expect(await tag(environment, { k0: "changed" })).toBe("answered");
    expect(await tag(environment, { one: "more" })).toBe(
      "TOO_MANY_TAGS: The resource would have 51 tags; 50 are allowed.",
    );
  });
});
