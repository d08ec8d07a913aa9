import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { FlowDefinitionSchema } from "../../../../gen/quartet/customerprofile/v1/integration_pb.ts";
import { readBucketOf } from "../../../../services/customer-profile/work/flow/flow-reader.ts";
import { accountsOf } from "../../../../services/kit/accounts/accounts.ts";
import { parseTrustPolicy } from "../../../../services/kit/accounts/trust-policy.ts";
import { flowOf } from "./imports.ts";

const account = "000000000000";
const sourceArn = `arn:aws:appflow:us-east-1:${account}:flow/people`;
const flow = create(FlowDefinitionSchema, flowOf());

/** A role that trusts a service, under a condition. */
const roleOf = (accountId: string, name: string, Service: string, condition: object) => ({
  accountId,
  name,
  arn: `arn:aws:iam::${accountId}:role/${name}`,
  trustPolicy: parseTrustPolicy(
    JSON.stringify({
      Version: "2012-10-17",
      Statement: [{ Effect: "Allow", Principal: { Service }, Action: "sts:AssumeRole", Condition: condition }],
    }),
  ),
  policies: ['{"Statement":[]}'],
});

const roles = accountsOf({
  accounts: [],
  users: [],
  roles: [
    roleOf(account, "reader", "profile.amazonaws.com", { ArnEquals: { "aws:SourceArn": sourceArn } }),
    roleOf(account, "others", "profile.amazonaws.com", { StringEquals: { "aws:SourceAccount": "111111111111" } }),
    roleOf(account, "lambda", "lambda.amazonaws.com", {}),
    roleOf("111111111111", "foreign", "profile.amazonaws.com", {}),
  ],
  organizations: new Map(),
  accessKeys: [],
});

const read = (roleArn: string, known: typeof roles | undefined = roles) =>
  readBucketOf({ app: { region: "us-east-1" }, roles: known }, { account, roleArn, flow });

test("a flow without a role reads as the service, a bucket of its own account", () => {
  const { caller, ...bucket } = read("");
  expect(bucket).toEqual({ name: "inbox", prefix: "", owner: account });
  expect(caller).toMatchObject({
    isRoot: false,
    policies: [],
    service: { name: "appflow.amazonaws.com", sourceAccount: account, sourceArn },
  });
});

test("a flow with a role reads as a session of it, also buckets of others", () => {
  const { caller, ...bucket } = read(`arn:aws:iam::${account}:role/reader`);
  expect(bucket).toEqual({ name: "inbox", prefix: "", owner: undefined });
  expect(caller).toMatchObject({
    principalArn: `arn:aws:sts::${account}:assumed-role/reader/flow`,
    isRoot: false,
    policies: ['{"Statement":[]}'],
  });
});

test.each([
  ["that does not exist", `arn:aws:iam::${account}:role/nobody`, roles],
  ["that trusts the service for another account", `arn:aws:iam::${account}:role/others`, roles],
  ["that trusts another service", `arn:aws:iam::${account}:role/lambda`, roles],
  ["of another account", "arn:aws:iam::111111111111:role/foreign", roles],
  ["of an installation without roles", `arn:aws:iam::${account}:role/reader`, undefined],
])("a flow does not read in the name of a role %s", (_what, roleArn, known) => {
  const tools = { app: { region: "us-east-1" }, roles: known };
  expect(() => readBucketOf(tools, { account, roleArn, flow })).toThrow(
    `${roleArn} is no role of the account that trusts profile.amazonaws.com for ${sourceArn}`,
  );
});
