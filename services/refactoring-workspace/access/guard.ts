import type { DescMethod, Message } from "@bufbuild/protobuf";

import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { isOwner } from "../../kit/identity/owner.ts";
import type { Guard } from "../../kit/server/guard.ts";
import type { Application } from "../application.ts";
import { parseResourceArn, resourceTypeOf } from "../domain/resource-name.ts";
import { fault } from "../faults.ts";
import { findEnvironment } from "../store/environment.ts";
import type { Access } from "./access.ts";

/**
 * Decides whether a call may reach its handler: only the owner of an environment may use it and what it holds. Every
 * request that names a resource names its environment.
 *
 * Refuses, in this order: (1) a caller without an account, (2) an ARN that is not one of this service's resources, (3)
 * an environment of another account. An environment that does not exist is left to the handler.
 */
export const guard: Guard<Application, Access> = async (request, { app, caller, method }) => {
  const { accountId } = caller;
  if (!isOwner(caller, accountId)) throw denied(method, "*");
  const named = findNamedEnvironment(request, method);
  if (named !== undefined) {
    const environment = await app.store.read((reader) => findEnvironment(reader, named.environmentId));
    if (environment !== undefined && !isOwner(caller, environment.ownerAccountId)) throw named.refusal();
  }
  return { accountId };
};

/** Operations to which a resource of another account looks as if it did not exist. */
const concealing: ReadonlySet<string> = new Set(["TagResource", "UntagResource", "ListTagsForResource"]);

/** The environment that a request names, and the refusal of a caller who may not use it; undefined if it names none. */
const findNamedEnvironment = (
  request: Message,
  method: DescMethod,
): { readonly environmentId: string; readonly refusal: () => Error } | undefined => {
  const members = request as unknown as Readonly<Record<string, string>>;
  const valueOf = (...names: readonly string[]): string | undefined => {
    const member = method.input.fields.find(({ name }) => names.includes(name));
    return member && members[member.localName];
  };
  const identifier = valueOf("environment_identifier");
  if (identifier !== undefined) return { environmentId: identifier, refusal: () => denied(method, identifier) };
  const arn = valueOf("resource_arn", "identifier");
  if (arn === undefined) return undefined;
  const { resource } = parseResourceArn(arn);
  const { environmentId } = resource;
  if (!concealing.has(method.name)) return { environmentId, refusal: () => denied(method, environmentId) };
  const missing = { resource_type: resourceTypeOf(resource), resource_id: arn };
  return { environmentId, refusal: () => fault(ErrorReason.RESOURCE_NOT_FOUND, missing) };
};

const denied = (method: DescMethod, resource: string): Error =>
  fault(ErrorReason.ACCESS_DENIED, { action: `refactoring-workspace:${method.name}`, resource });
