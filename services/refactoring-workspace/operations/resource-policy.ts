/**
 * Policies of environments. The guard has checked that the environment is not another account's. Each operation
 * refuses, in this order: (1) an ARN that does not name an environment, (2) when putting: a policy that is not one line
 * of a valid policy about this service's actions, (3) an environment that does not exist, (4) when getting or deleting:
 * an environment without a policy.
 */
import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import type { Policy } from "../../kit/policy/document.ts";
import { parsePolicy, PolicyError } from "../../kit/policy/document.ts";
import { findOrDamaged } from "../../kit/store/damage.ts";
import type { Reader } from "../../kit/store/transaction.ts";
import type { Operation } from "../application.ts";
import { parseEnvironmentArn } from "../domain/resource-name.ts";
import { findForeignAction, findLineProblem, namedAccounts } from "../domain/resource-policy.ts";
import { fault } from "../faults.ts";
import { getEnvironment } from "../store/environment.ts";
import { orNotFound } from "../store/or-not-found.ts";
import { deletePolicy, findPolicy, putPolicy } from "../store/resource-policy.ts";

/** Sets or replaces the policy; it is stored as written. */
export const putResourcePolicy: Operation<"putResourcePolicy"> = async (request, { app }) => {
  const named = parseEnvironmentArn(request.resourceArn);
  const accounts = namedAccounts(readPolicy(request.policy).statements);
  const nowMs = app.clock.now();

  await app.store.transact(async (transaction) => {
    const environmentId = await idOf(transaction, named);
    await putPolicy(transaction, environmentId, request.policy, accounts, nowMs);
  });

  return {};
};

/** Returns the policy as it was put. */
export const getResourcePolicy: Operation<"getResourcePolicy"> = async (request, { app }) => {
  const named = parseEnvironmentArn(request.identifier);
  const policy = await app.store.read(async (reader) => findPolicy(reader, await idOf(reader, named)));
  return { policy: orNotFound(policy, "RESOURCE_POLICY", request.identifier) };
};

/** Deletes the policy. Repeating the call fails with RESOURCE_NOT_FOUND. */
export const deleteResourcePolicy: Operation<"deleteResourcePolicy"> = async (request, { app }) => {
  const named = parseEnvironmentArn(request.identifier);

  await app.store.transact(async (transaction) => {
    const environmentId = await idOf(transaction, named);
    const policy = await findOrDamaged(findPolicy(transaction, environmentId));
    orNotFound(policy, "RESOURCE_POLICY", request.identifier);
    await deletePolicy(transaction, environmentId);
  });

  return {};
};

/**
 * The id of the environment with an ARN. Throws RESOURCE_NOT_FOUND, also if the ARN names an account that is not its
 * owner.
 */
const idOf = async (reader: Reader, named: ReturnType<typeof parseEnvironmentArn>): Promise<string> => {
  const { environmentId, ownerAccountId } = await getEnvironment(reader, named.environmentId);
  return orNotFound(ownerAccountId === named.account ? environmentId : undefined, "ENVIRONMENT", named.environmentId);
};

/** The field allows 300,000 characters, of up to four bytes each. */
const policyBytesMax = 4 * 300_000;

/** Reads a policy that may be put. Throws INVALID_RESOURCE_POLICY. */
const readPolicy = (text: string): Policy => {
  const line = findLineProblem(text);
  if (line !== undefined) throw invalid(line);
  let policy: Policy;
  try {
    policy = parsePolicy(text, { principals: "required", bytesMax: policyBytesMax });
  } catch (error) {
    if (error instanceof PolicyError) throw invalid(error.message);
    throw error;
  }
  const foreign = findForeignAction(policy.statements.flatMap((statement) => [...statement.action.entries]));
  if (foreign !== undefined) throw invalid(`${foreign} is not an action of this service`);
  return policy;
};

const invalid = (problem: string): Error => fault(ErrorReason.INVALID_RESOURCE_POLICY, { problem });
