import type { DescMethod, Message } from "@bufbuild/protobuf";

import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import { isOwner } from "../../kit/identity/owner.ts";
import type { Guard } from "../../kit/server/guard.ts";
import type { Application } from "../application.ts";
import { parseTaggedArn } from "../domain/resource-name.ts";
import { fault } from "../faults.ts";
import type { Access } from "./access.ts";

/**
 * Decides whether a call may reach its handler: a caller may use the data of its own account only. Requests name
 * resources of that account, except for those with a `resource_arn`, which names an account itself.
 *
 * Refuses, in this order: (1) a caller without an account, (2) an ARN that is not one of this service's resources, (3)
 * an ARN of another account.
 */
export const guard: Guard<Application, Access> = async (request, { caller, method }) => {
  const { accountId } = caller;
  if (!isOwner(caller, accountId)) throw denied(method, "*");
  const resourceArn = findResourceArn(request, method);
  if (resourceArn !== undefined && !isOwner(caller, parseTaggedArn(resourceArn).accountId))
    throw denied(method, resourceArn);
  return { accountId };
};

/** The value of the request's `resource_arn` member; undefined if its method has no such member. */
const findResourceArn = (request: Message, method: DescMethod): string | undefined => {
  const member = method.input.fields.find(({ name }) => name === "resource_arn");
  return member && (request as unknown as Readonly<Record<string, string>>)[member.localName];
};

const denied = (method: DescMethod, resource: string): Error =>
  fault(ErrorReason.ACCESS_DENIED, { action: `customer-profile:${method.name}`, resource });
