import type { Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { RoleRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import { RoleRecordSchema } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type {
  CreateRoleRequest,
  DeleteRoleRequest,
  GetRoleRequest,
  ListRolesRequest,
  UpdateAssumeRolePolicyRequest,
  UpdateRoleDescriptionRequest,
  UpdateRoleRequest,
} from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import type { Role } from "../../../services/kit/accounts/accounts.ts";
import { entityArn, namedWithPath, pathNameOfArn } from "../../../services/kit/accounts/entity-arn.ts";
import { derivedPrincipalId, idAlphabet } from "../../../services/kit/identity/principal-ids.ts";
import type { Context } from "../application.ts";
import { boundaryMember } from "../domain/boundaries.ts";
import { charactersOf, trustDocument } from "../domain/documents.ts";
import {
  assertFree,
  boundaryReference,
  conflict,
  exceeded,
  findDeclaredRole,
  getChangeable,
  heldBy,
  noSuch,
  profilesOfRole,
  withTags,
} from "../domain/entities.ts";
import { limits } from "../limits.ts";
import { pageOf } from "./listing.ts";
import { tagList, tagOperations } from "./tags.ts";

const secondsDefault = 3_600;

type RoleTagsRequest = Message & { readonly roleName?: string };

/**
 * Creates a role. Refuses, in this order: MALFORMED_POLICY, LIMIT_EXCEEDED, ENTITY_EXISTS, LIMIT_EXCEEDED,
 * NO_SUCH_ENTITY of the boundary, INVALID_VALUE.
 */
export const createRole = async (request: CreateRoleRequest, { app, caller }: Context) => {
  const { roleName: name = "", path = "/", assumeRolePolicyDocument = "", description, maxSessionDuration } = request;
  const { accountId } = caller;
  const trustPolicy = checkedTrust(assumeRolePolicyDocument);
  return app.identities.change(accountId, (state) => {
    assertFree(app.accounts, accountId, state, "role", name, limits.rolesMax);
    const permissionsBoundary = boundaryReference(accountId, state, request);
    const record = create(RoleRecordSchema, {
      name,
      path,
      id: `AROA${app.ids.token(17, idAlphabet)}`,
      createdMs: BigInt(app.clock.now()),
      policies: {},
      trustPolicy,
      ...(description === undefined ? {} : { description }),
      sessionSecondsMax: maxSessionDuration ?? secondsDefault,
      tags: withTags({}, request.tags),
      ...(permissionsBoundary === undefined ? {} : { permissionsBoundary }),
    });
    const role = { ...storedRole(accountId, record), ...boundaryMember(accountId, state, record) };
    return { changes: [put(record)], result: { role } };
  });
};

/** Returns a role with its boundary. Refuses: NO_SUCH_ENTITY. */
export const getRole = async ({ roleName = "" }: GetRoleRequest, context: Context) => {
  const { app, caller } = context;
  const { accountId } = caller;
  const role = roleMessage(context, roleName);
  const state = app.identities.state(accountId);
  const record = state.role.get(roleName.toLowerCase());
  const isDeclared = findDeclaredRole(app.accounts, accountId, roleName) !== undefined;
  return { role: { ...role, ...(isDeclared || record === undefined ? {} : boundaryMember(accountId, state, record)) } };
};

/** Lists the roles of the account. */
export const listRoles = async (request: ListRolesRequest, context: Context) => {
  const { declared, stored } = allRoles(context);
  const messages = [...declared, ...stored.map((record) => storedRole(context.caller.accountId, record))];
  const all = messages.filter(({ path }) => path.startsWith(request.pathPrefix ?? ""));
  const { items, ...page } = pageOf(context, request, all, ({ roleName }) => roleName, [request.pathPrefix]);
  return { roles: [...items], ...page };
};

/** Changes the description or the longest session. Refuses, in this order: DECLARED_ENTITY, NO_SUCH_ENTITY. */
export const updateRole = async (request: UpdateRoleRequest, context: Context) => {
  await changeRole(context, request.roleName ?? "", (role) => ({
    ...role,
    ...(request.description === undefined ? {} : { description: request.description }),
    sessionSecondsMax: request.maxSessionDuration ?? role.sessionSecondsMax,
  }));
  return {};
};

/** Changes the description. Refuses, in this order: DECLARED_ENTITY, NO_SUCH_ENTITY. */
export const updateRoleDescription = async (
  { roleName = "", description = "" }: UpdateRoleDescriptionRequest,
  context: Context,
) => {
  const role = await changeRole(context, roleName, (former) => ({ ...former, description }));
  const { accountId } = context.caller;
  const boundary = boundaryMember(accountId, context.app.identities.state(accountId), role);
  return { role: { ...storedRole(accountId, role), ...boundary } };
};

/**
 * Replaces the trust policy. Refuses, in this order: MALFORMED_POLICY, LIMIT_EXCEEDED, DECLARED_ENTITY, NO_SUCH_ENTITY.
 */
export const updateAssumeRolePolicy = async (
  { roleName = "", policyDocument = "" }: UpdateAssumeRolePolicyRequest,
  context: Context,
) => {
  const trustPolicy = checkedTrust(policyDocument);
  await changeRole(context, roleName, (role) => ({ ...role, trustPolicy }));
  return {};
};

/** Deletes a role. Refuses, in this order: DECLARED_ENTITY, NO_SUCH_ENTITY, DELETE_CONFLICT. */
export const deleteRole = async ({ roleName = "" }: DeleteRoleRequest, { app, caller }: Context) =>
  app.identities.change(caller.accountId, (state) => {
    const role = getChangeable(app.accounts, caller.accountId, state, "role", roleName);
    if (Object.keys(heldBy(role).inline).length > 0) throw conflict("delete policies");
    if (heldBy(role).attached.length > 0) throw conflict("detach all policies");
    if (profilesOfRole(state, role.name).length > 0) throw conflict("remove roles from instance profile");
    return { changes: [{ kind: "role", name: role.name.toLowerCase(), record: undefined }], result: {} };
  });

/** The operations on the tags of a role. */
export const roleTags = tagOperations({
  kind: "role",
  nameOf: ({ roleName }: RoleTagsRequest) => roleName,
  getChangeable: ({ app, caller }, state, { roleName = "" }) =>
    getChangeable(app.accounts, caller.accountId, state, "role", roleName),
  read: (context, { roleName = "" }) => roleMessage(context, roleName).tags,
});

/** The role as it is after the change. */
const changeRole = ({ app, caller }: Context, roleName: string, change: (role: RoleRecord) => RoleRecord) =>
  app.identities.change(caller.accountId, (state) => {
    const role = change(getChangeable(app.accounts, caller.accountId, state, "role", roleName));
    return { changes: [put(role)], result: role };
  });

const put = (record: RoleRecord) => ({ kind: "role" as const, name: record.name.toLowerCase(), record });

const checkedTrust = (document: string): string => {
  const trustPolicy = trustDocument(document);
  const { trustPolicyCharactersMax } = limits;
  if (charactersOf(trustPolicy) > trustPolicyCharactersMax) throw exceeded("ACLSizePerRole", trustPolicyCharactersMax);
  return trustPolicy;
};

/** A role, also one that is declared. Throws NO_SUCH_ENTITY. */
export const roleMessage = (context: Context, roleName: string) => {
  const found = findRoleMessage(context, roleName);
  if (found === undefined) throw noSuch("role", roleName);
  return found;
};

export const findRoleMessage = ({ app, caller: { accountId } }: Context, roleName: string) => {
  const declared = findDeclaredRole(app.accounts, accountId, roleName);
  if (declared !== undefined) return declaredRole(declared);
  const stored = app.identities.state(accountId).role.get(roleName.toLowerCase());
  return stored === undefined ? undefined : storedRole(accountId, stored);
};

/** The roles of the account; a declared one hides a stored one of its name. */
export const allRoles = ({ app, caller: { accountId } }: Context) => {
  const declared = app.accounts.listRoles(accountId).map(declaredRole);
  const hidden = new Set(declared.map(({ roleName }) => roleName.toLowerCase()));
  const stored = [...app.identities.state(accountId).role].filter(([name]) => !hidden.has(name));
  return { declared, stored: stored.map(([, record]) => record) };
};

/** A role as listings have it: without its boundary. */
export const storedRole = (accountId: string, record: RoleRecord) => ({
  path: record.path,
  roleName: record.name,
  roleId: record.id,
  arn: entityArn(accountId, "role", record),
  createDate: timestampFromMs(Number(record.createdMs)),
  assumeRolePolicyDocument: record.trustPolicy,
  ...(record.description === undefined ? {} : { description: record.description }),
  maxSessionDuration: record.sessionSecondsMax,
  tags: tagList(record.tags),
});

const declaredRole = (role: Role) => ({
  path: namedWithPath(pathNameOfArn(role.arn)).path,
  roleName: role.name,
  roleId: derivedPrincipalId("AROA", role.arn),
  arn: role.arn,
  createDate: timestampFromMs(0),
  maxSessionDuration: role.sessionSecondsMax ?? secondsDefault,
  tags: tagList(role.tags ?? {}),
});
