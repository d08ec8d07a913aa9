/**
 * Policies of environments. Each operation refuses an ARN that names no environment; putting then refuses a policy
 * that is not one line of a valid policy about this service's actions; all refuse an environment that is not there,
 * then one of another account. Getting and deleting refuse where there is no policy.
 */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { parsePolicy, PolicyError } from "../../kit/policy/document.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Reader } from "../../kit/store/transaction.ts";
import type { Application, Operation } from "../application.ts";
import { ownEnvironment } from "../access/guard.ts";
import { findForeignAction, findLineProblem } from "../domain/resource-policy.ts";
import { fault } from "../faults.ts";
import { deletePolicy, findPolicy, putPolicy } from "../store/resource-policy.ts";
import { environmentOf } from "./arns.ts";
import { existing } from "./checks.ts";

/** Sets or replaces the policy; it is stored as it is written. */
export const putResourcePolicy: Operation<"putResourcePolicy"> = async (request, context) => {
  const { app } = context;
  const named = environmentOf(request.resourceArn);
  const problem = findPolicyProblem(request.policy);
  if (problem !== undefined) throw fault(ErrorReason.INVALID_RESOURCE_POLICY, { problem });
  const now = timestampFromMs(app.clock.now());

  await app.store.transact(async (transaction) => {
    const environmentId = await ownNamed(transaction, context, named);
    putPolicy(transaction, environmentId, request.policy, now);
  });

  return {};
};

/** Tells the policy as it was put. */
export const getResourcePolicy: Operation<"getResourcePolicy"> = async (request, context) => {
  const named = environmentOf(request.identifier);
  const policy = await context.app.store.read(async (reader) =>
    findPolicy(reader, await ownNamed(reader, context, named)),
  );
  return { policy: existing(policy, "RESOURCE_POLICY", request.identifier) };
};

/** Removes the policy. A second call is refused, because there is none any more. */
export const deleteResourcePolicy: Operation<"deleteResourcePolicy"> = async (request, context) => {
  const named = environmentOf(request.identifier);

  await context.app.store.transact(async (transaction) => {
    const environmentId = await ownNamed(transaction, context, named);
    existing(await findPolicy(transaction, environmentId), "RESOURCE_POLICY", request.identifier);
    deletePolicy(transaction, environmentId);
  });

  return {};
};

/** The id of an environment that an ARN names with its owner's account. */
const ownNamed = async (
  reader: Reader,
  context: CallContext<Application>,
  named: ReturnType<typeof environmentOf>,
): Promise<string> => {
  const { environmentId, ownerAccountId } = await ownEnvironment(reader, context, named.environmentId);
  return existing(ownerAccountId === named.account ? environmentId : undefined, "ENVIRONMENT", named.environmentId);
};

/** Characters that a policy's field allows, of up to four bytes each. */
const policyBytesMax = 4 * 300_000;

const findPolicyProblem = (text: string): string | undefined => {
  const line = findLineProblem(text);
  if (line !== undefined) return line;
  try {
    const policy = parsePolicy(text, { principals: "required", bytesMax: policyBytesMax });
    const foreign = findForeignAction(policy.statements.flatMap((statement) => [...statement.action.entries]));
    return foreign === undefined ? undefined : `${foreign} is no action of this service`;
  } catch (error) {
    if (error instanceof PolicyError) return error.message;
    throw error;
  }
};
