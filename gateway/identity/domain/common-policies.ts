import { create } from "@bufbuild/protobuf";

import type { PolicyRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import { PolicyRecordSchema } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import { entityArn } from "../../../services/kit/accounts/entity-arn.ts";
import { derivedPrincipalId } from "../../../services/kit/identity/principal-ids.ts";

/** What stands for the account in the ARNs of the policies that all accounts have in common. */
export const commonAccount = "aws";

interface Statement {
  readonly Action?: readonly string[];
  readonly NotAction?: readonly string[];
  readonly Condition?: object;
}

const passingToEvents: Statement = {
  Action: ["iam:PassRole"],
  Condition: { StringEquals: { "iam:PassedToService": "events.amazonaws.com" } },
};
const readingEvents = ["events:Describe*", "events:List*", "events:TestEventPattern"];
const readingIdentities = ["iam:Get*", "iam:List*", "iam:SimulatePrincipalPolicy", "iam:SimulateCustomPolicy"];
const readingObjects = ["s3:Describe*", "s3:Get*", "s3:List*", "s3-object-lambda:Get*", "s3-object-lambda:List*"];
const readingOthers = [
  "profile:Get*",
  "profile:List*",
  "profile:SearchProfiles",
  "refactor-spaces:Get*",
  "refactor-spaces:List*",
];

/** Their names are those of the public service, whose clients and templates attach them. */
const allowed: Readonly<Record<string, readonly [description: string, ...statements: Statement[]]>> = {
  AdministratorAccess: ["Everything.", { Action: ["*"] }],
  AmazonEventBridgeFullAccess: ["Everything on the event bus.", { Action: ["events:*"] }, passingToEvents],
  AmazonEventBridgeReadOnlyAccess: ["Reads the configuration of the event bus.", { Action: readingEvents }],
  AmazonS3FullAccess: ["Everything on buckets and objects.", { Action: ["s3:*", "s3-object-lambda:*"] }],
  AmazonS3ReadOnlyAccess: ["Reads buckets and objects.", { Action: readingObjects }],
  AWSMigrationHubRefactorSpacesFullAccess: ["Everything on workspaces.", { Action: ["refactor-spaces:*"] }],
  IAMFullAccess: ["Everything on users, groups, roles and policies.", { Action: ["iam:*"] }],
  IAMReadOnlyAccess: ["Reads users, groups, roles and policies.", { Action: readingIdentities }],
  PowerUserAccess: ["Everything but users, groups, roles and policies.", { NotAction: ["iam:*"] }],
  ReadOnlyAccess: [
    "Reads everything.",
    { Action: [...readingEvents, ...readingIdentities, ...readingObjects, ...readingOthers] },
  ],
};

const recordOf = (name: string, description: string, statements: readonly Statement[]): PolicyRecord => {
  const statement = statements.map((each) => ({ Effect: "Allow", ...each, Resource: "*" }));
  const document = JSON.stringify({ Version: "2012-10-17", Statement: statement });
  return create(PolicyRecordSchema, {
    name,
    path: "/",
    id: derivedPrincipalId("ANPA", entityArn(commonAccount, "policy", { name })),
    description,
    versions: [{ number: 1, document }],
    defaultVersion: 1,
    lastVersion: 1,
  });
};

/** The policies that all accounts have in common, by their names in lower case. They cannot be changed. */
export const commonPolicies: ReadonlyMap<string, PolicyRecord> = new Map(
  Object.entries(allowed).map(([name, [description, ...statements]]) => [
    name.toLowerCase(),
    recordOf(name, description, statements),
  ]),
);
