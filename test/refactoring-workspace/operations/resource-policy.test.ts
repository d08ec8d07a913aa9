import { describe, expect, test } from "vitest";

import { makeApplication, makeEnvironment, refusalOf, startHarness } from "../harness.ts";

const arnOf = (environmentId: string) => `arn:aws:refactor-spaces:us-east-1:000000000000:environment/${environmentId}`;

const statement = {
  Effect: "Allow",
  Principal: { AWS: "111111111111" },
  Action: ["refactor-spaces:CreateApplication", "refactor-spaces:GetEnvironment"],
  Condition: { StringEquals: { "refactor-spaces:ApplicationCreatedByAccount": ["111111111111"] } },
};
const policyOf = (...statements: object[]) => JSON.stringify({ Version: "2012-10-17", Statement: statements });

const invalid = (problem: string) => `INVALID_RESOURCE_POLICY: The resource policy is not valid: ${problem}.`;

describe("putResourcePolicy and getResourcePolicy", () => {
  test("keep the policy as it is written, and the last one counts", async () => {
    const { client } = await startHarness();
    const resourceArn = arnOf(await makeEnvironment(client));
    const first = `{ "Statement": ${JSON.stringify(statement)}  }`;
    await client.putResourcePolicy({ resourceArn, policy: first });
    expect((await client.getResourcePolicy({ identifier: resourceArn })).policy).toBe(first);
    await client.putResourcePolicy({ resourceArn, policy: policyOf(statement) });
    expect((await client.getResourcePolicy({ identifier: resourceArn })).policy).toBe(policyOf(statement));
  });

  test("refuse, in this order", async () => {
    const { client, clientOf } = await startHarness();
    const place = await makeApplication(client);
    const resourceArn = arnOf(place.environmentIdentifier);
    const put = (policy: string, arn = resourceArn, by = client) =>
      refusalOf(by.putResourcePolicy({ resourceArn: arn, policy }));
    const application = `${resourceArn}/application/${place.applicationIdentifier}`;

    expect(await put("no", application)).toBe(`ARN_INVALID: The ARN ${application} does not name an environment.`);
    expect(await put("  ")).toBe(invalid("it is blank"));
    expect(await put(`{\n"Statement": []}`)).toBe(invalid("it has a line break"));
    expect(await put(`${policyOf(statement)}\r`)).toBe(invalid("it has a line break"));
    expect(await put("{")).toBe(invalid("the policy is not valid JSON"));
    expect(await put(policyOf())).toBe(invalid("Statement must not be empty"));
    expect(await put(policyOf({ ...statement, Principal: undefined }))).toMatch(
      /^INVALID_RESOURCE_POLICY: .*Principal/,
    );
    expect(await put(policyOf({ ...statement, Effect: "Perhaps" }))).toMatch(/^INVALID_RESOURCE_POLICY: .*Effect/);
    expect(await put(policyOf({ ...statement, Action: "s3:GetObject" }))).toBe(
      invalid("s3:GetObject is not an action of this service"),
    );
    expect(await put(policyOf(statement), arnOf("env-0000000000"))).toBe(
      "RESOURCE_NOT_FOUND: There is no ENVIRONMENT env-0000000000.",
    );
    expect(await put(policyOf(statement), resourceArn, clientOf("111111111111"))).toMatch(/^ACCESS_DENIED: /);
    expect(await put(policyOf(statement), resourceArn.replace("000000000000", "222222222222"))).toBe(
      `RESOURCE_NOT_FOUND: There is no ENVIRONMENT ${place.environmentIdentifier}.`,
    );
    expect(await put(policyOf(statement))).toBe("answered");
  });
});

describe("deleteResourcePolicy", () => {
  test("removes the policy; from then on there is none", async () => {
    const { client } = await startHarness();
    const identifier = arnOf(await makeEnvironment(client));
    const none = `RESOURCE_NOT_FOUND: There is no RESOURCE_POLICY ${identifier}.`;
    expect(await refusalOf(client.getResourcePolicy({ identifier }))).toBe(none);
    await client.putResourcePolicy({ resourceArn: identifier, policy: policyOf(statement) });
    await client.deleteResourcePolicy({ identifier });
    expect(await refusalOf(client.getResourcePolicy({ identifier }))).toBe(none);
    expect(await refusalOf(client.deleteResourcePolicy({ identifier }))).toBe(none);
  });
});
