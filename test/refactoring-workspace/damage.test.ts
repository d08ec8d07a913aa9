import { expect, test } from "vitest";

import { ErrorCode } from "../../gen/quartet/refactoringworkspace/v1/resource_error_pb.ts";
import { EnvironmentState } from "../../gen/quartet/refactoringworkspace/v1/environment_pb.ts";
import { environments, resourcePolicies } from "../../services/refactoring-workspace/store/layout.ts";
import { damageStoredRecord } from "../support/damaged-record.ts";
import { makeEnvironment, ownerAccount, refusalOf, startHarness } from "./harness.ts";

const other = "111111111111";
const arnOf = (environmentId: string): string =>
  `arn:aws:refactor-spaces:us-east-1:${ownerAccount}:environment/${environmentId}`;
const policyFor = (account: string): string =>
  JSON.stringify({
    Version: "2012-10-17",
    Statement: [{ Effect: "Allow", Principal: { AWS: account }, Action: ["refactor-spaces:GetEnvironment"] }],
  });

/** Two environments, which are shared with another account, after a restart with a damaged record. */
const startShared = async (damage: "environment" | "policy") => {
  const first = await startHarness();
  const ids = [await makeEnvironment(first.client), await makeEnvironment(first.client)];
  for (const id of ids) await first.client.putResourcePolicy({ resourceArn: arnOf(id), policy: policyFor(other) });
  const own = await makeEnvironment(first.clientOf(other));
  await first.stop();
  const [lost = "", kept = ""] = ids;
  const table = damage === "environment" ? environments : resourcePolicies;
  await damageStoredRecord(first.directory, table, [lost] as const);
  const { client, clientOf } = await startHarness({ directory: first.directory });
  const listed = async (account: string): Promise<string[]> => {
    const { environmentSummaryList } = await clientOf(account).listEnvironments({});
    return environmentSummaryList.map(({ environmentId }) => environmentId).toSorted();
  };
  return { client, clientOf, listed, lost, kept, own };
};

test("a damaged environment is listed as failed for its owner, and hides no other one from anybody", async () => {
  const { client, listed, lost, kept, own } = await startShared("environment");
  expect(await listed(other)).toEqual([kept, own].toSorted());
  expect(await listed(ownerAccount)).toEqual([lost, kept].toSorted());
  const { environmentSummaryList } = await client.listEnvironments({});
  expect(environmentSummaryList.find(({ environmentId }) => environmentId === lost)).toMatchObject({
    arn: arnOf(lost),
    ownerAccountId: ownerAccount,
    state: EnvironmentState.FAILED,
    error: { code: ErrorCode.RESOURCE_RETRIEVAL_FAILURE, message: "The stored record of this environment is damaged." },
  });
  expect(await refusalOf(client.getEnvironment({ environmentIdentifier: lost }))).toBe("DATA_LOSS");
});

test("a damaged policy shares its environment with nobody until it is put again", async () => {
  const { client, clientOf, listed, lost, kept, own } = await startShared("policy");
  expect(await listed(other)).toEqual([kept, own].toSorted());
  expect(await refusalOf(clientOf(other).getEnvironment({ environmentIdentifier: lost }))).toBe("DATA_LOSS");
  await client.putResourcePolicy({ resourceArn: arnOf(lost), policy: policyFor(other) });
  expect(await listed(other)).toEqual([lost, kept, own].toSorted());
  expect(await refusalOf(clientOf(other).getEnvironment({ environmentIdentifier: lost }))).toBe("answered");
});
