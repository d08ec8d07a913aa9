import type { Message, MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { UserRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import { UserRecordSchema } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type {
  CreateUserRequest,
  DeleteUserRequest,
  GetUserRequest,
  ListUsersRequest,
  UpdateUserRequest,
} from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import type { UserSchema } from "../../../gen/quartet/identity/v1/principal_pb.ts";
import type { User } from "../../../services/kit/accounts/accounts.ts";
import { entityArn, namedWithPath } from "../../../services/kit/accounts/entity-arn.ts";
import { derivedPrincipalId, idAlphabet } from "../../../services/kit/identity/principal-ids.ts";
import { callersOwnUser } from "../access/caller-user.ts";
import type { Context } from "../application.ts";
import type { Change } from "../domain/account-state.ts";
import { boundaryMember } from "../domain/boundaries.ts";
import {
  assertFree,
  boundaryReference,
  conflict,
  findDeclaredUser,
  getChangeable,
  getRecord,
  heldBy,
  noSuch,
  withTags,
} from "../domain/entities.ts";
import { limits } from "../limits.ts";
import { pageOf } from "./listing.ts";
import { tagList, tagOperations } from "./tags.ts";

type UserMessage = MessageInitShape<typeof UserSchema>;
type UserTagsRequest = Message & { readonly userName?: string };

/**
 * Creates a user. Refuses, in this order: ENTITY_EXISTS, LIMIT_EXCEEDED, NO_SUCH_ENTITY of the boundary, INVALID_VALUE.
 */
export const createUser = async (request: CreateUserRequest, context: Context) => {
  const { userName: name = "", path = "/", tags } = request;
  const { app, caller } = context;
  const { accountId } = caller;
  return app.identities.change(accountId, (state) => {
    assertFree(app.accounts, accountId, state, "user", name, limits.usersMax);
    const permissionsBoundary = boundaryReference(accountId, state, request);
    const id = `AIDA${app.ids.token(17, idAlphabet)}`;
    const record = create(UserRecordSchema, {
      name,
      path,
      id,
      createdMs: BigInt(app.clock.now()),
      policies: {},
      tags: withTags({}, tags),
      ...(permissionsBoundary === undefined ? {} : { permissionsBoundary }),
    });
    const user = { ...storedUser(accountId, record), ...boundaryMember(accountId, state, record) };
    return { changes: [put(record)], result: { user } };
  });
};

/** Returns a user, the caller's own if none is named. Refuses: NO_SUCH_ENTITY. */
export const getUser = async ({ userName }: GetUserRequest, context: Context) => {
  const { caller } = context;
  const { accountId } = caller;
  const name = userName ?? callersOwnUser(caller);
  if (name === undefined) {
    if (!caller.isRoot) throw noSuch("user", caller.principalArn);
    const arn = `arn:aws:iam::${accountId}:root`;
    return { user: { path: "/", userName: "", userId: accountId, arn, createDate: timestampFromMs(0) } };
  }
  return { user: userMessage(context, name) };
};

/** Lists the users of the account. */
export const listUsers = async (request: ListUsersRequest, context: Context) => {
  const { pathPrefix } = request;
  const { declared, stored } = allUsers(context);
  const messages = [...declared, ...stored.map((record) => storedUser(context.caller.accountId, record))];
  const all = messages.filter(({ path }) => path.startsWith(pathPrefix ?? ""));
  const { items, ...page } = pageOf(context, request, all, ({ userName }) => userName, [pathPrefix]);
  return { users: [...items], ...page };
};

/** Changes the name or the path of a user. Refuses, in this order: DECLARED_ENTITY, NO_SUCH_ENTITY, ENTITY_EXISTS. */
export const updateUser = async ({ userName = "", newPath, newUserName }: UpdateUserRequest, context: Context) => {
  const { app, caller } = context;
  const { accountId } = caller;
  return app.identities.change(accountId, (state) => {
    const user = getChangeable(app.accounts, accountId, state, "user", userName);
    const isRenamed = newUserName !== undefined && newUserName.toLowerCase() !== user.name.toLowerCase();
    if (isRenamed) assertFree(app.accounts, accountId, state, "user", newUserName, Number.POSITIVE_INFINITY);
    const changed = { ...user, path: newPath ?? user.path, name: newUserName ?? user.name };
    const keys = [...state.accessKey]
      .filter(([, key]) => key.userName === user.name)
      .map(([name, key]): Change => ({ kind: "accessKey", name, record: { ...key, userName: changed.name } }));
    const former: Change[] = isRenamed ? [{ kind: "user", name: user.name.toLowerCase(), record: undefined }] : [];
    return { changes: [...former, put(changed), ...keys], result: {} };
  });
};

/** Deletes a user. Refuses, in this order: DECLARED_ENTITY, NO_SUCH_ENTITY, DELETE_CONFLICT. */
export const deleteUser = async ({ userName = "" }: DeleteUserRequest, { app, caller }: Context) => {
  const { accountId } = caller;
  return app.identities.change(accountId, (state) => {
    const user = getChangeable(app.accounts, accountId, state, "user", userName);
    if ([...state.accessKey.values()].some((key) => key.userName === user.name)) throw conflict("delete access keys");
    if (Object.keys(heldBy(user).inline).length > 0) throw conflict("delete policies");
    if (heldBy(user).attached.length > 0) throw conflict("detach all policies");
    if (user.groups.length > 0) throw conflict("remove the user from all groups");
    return { changes: [{ kind: "user", name: user.name.toLowerCase(), record: undefined }], result: {} };
  });
};

/** The operations on the tags of a user. */
export const userTags = tagOperations({
  kind: "user",
  nameOf: ({ userName }: UserTagsRequest) => userName,
  getChangeable: ({ app, caller }, state, { userName = "" }) =>
    getChangeable(app.accounts, caller.accountId, state, "user", userName),
  read: (context, { userName = "" }) => userMessage(context, userName).tags,
});

const put = (record: UserRecord): Change => ({ kind: "user", name: record.name.toLowerCase(), record });

/** A user with its boundary, also one that is declared. Throws NO_SUCH_ENTITY. */
export const userMessage = ({ app, caller: { accountId } }: Context, name: string) => {
  const declared = findDeclaredUser(app.accounts, accountId, name);
  if (declared !== undefined) return declaredUser(accountId, declared);
  const state = app.identities.state(accountId);
  const record = getRecord(state, "user", name);
  return { ...storedUser(accountId, record), ...boundaryMember(accountId, state, record) };
};

/** The users of the account; a declared one hides a stored one of its name. */
export const allUsers = ({ app, caller: { accountId } }: Context) => {
  const declared = app.accounts.listUsers(accountId).map((user) => declaredUser(accountId, user));
  const hidden = new Set(declared.map(({ userName }) => userName.toLowerCase()));
  const stored = [...app.identities.state(accountId).user].filter(([name]) => !hidden.has(name));
  return { declared, stored: stored.map(([, record]) => record) };
};

/** A user as listings have it: without its boundary. */
export const storedUser = (accountId: string, record: UserRecord) =>
  ({
    path: record.path,
    userName: record.name,
    userId: record.id,
    arn: entityArn(accountId, "user", record),
    createDate: timestampFromMs(Number(record.createdMs)),
    tags: tagList(record.tags),
  }) satisfies UserMessage;

const declaredUser = (accountId: string, user: User) => {
  const arn = `arn:aws:iam::${accountId}:user/${user.name}`;
  const { name, path } = namedWithPath(user.name);
  return {
    path,
    userName: name,
    userId: derivedPrincipalId("AIDA", arn),
    arn,
    createDate: timestampFromMs(0),
    tags: tagList(user.tags ?? {}),
  } satisfies UserMessage;
};
