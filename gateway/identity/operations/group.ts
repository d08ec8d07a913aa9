import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { GroupRecord, UserRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import { GroupRecordSchema } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type {
  AddUserToGroupRequest,
  CreateGroupRequest,
  DeleteGroupRequest,
  GetGroupRequest,
  ListGroupsForUserRequest,
  ListGroupsRequest,
  RemoveUserFromGroupRequest,
  UpdateGroupRequest,
} from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import { entityArn } from "../../../services/kit/accounts/entity-arn.ts";
import { idAlphabet } from "../../../services/kit/identity/principal-ids.ts";
import type { Context } from "../application.ts";
import type { AccountState, Change } from "../domain/account-state.ts";
import {
  assertFree,
  conflict,
  exceeded,
  findDeclaredUser,
  getChangeable,
  getRecord,
  heldBy,
} from "../domain/entities.ts";
import { limits } from "../limits.ts";
import { pageOf } from "./listing.ts";
import { storedUser } from "./user.ts";

/** Creates a group. Refuses, in this order: ENTITY_EXISTS, LIMIT_EXCEEDED. */
export const createGroup = async (
  { groupName: name = "", path = "/" }: CreateGroupRequest,
  { app, caller }: Context,
) => {
  const { accountId } = caller;
  return app.identities.change(accountId, (state) => {
    assertFree(app.accounts, accountId, state, "group", name, limits.groupsMax);
    const id = `AGPA${app.ids.token(17, idAlphabet)}`;
    const record = create(GroupRecordSchema, { name, path, id, createdMs: BigInt(app.clock.now()), policies: {} });
    return {
      changes: [{ kind: "group", name: name.toLowerCase(), record }],
      result: { group: groupMessage(accountId, record) },
    };
  });
};

/** Returns a group and its users. Refuses: NO_SUCH_ENTITY. */
export const getGroup = async (request: GetGroupRequest, context: Context) => {
  const { accountId } = context.caller;
  const state = context.app.identities.state(accountId);
  const group = getRecord(state, "group", request.groupName ?? "");
  const all = membersOf(state, group).map((user) => storedUser(accountId, user));
  const { items, ...page } = pageOf(context, request, all, ({ userName }) => userName, [request.groupName]);
  return { group: groupMessage(accountId, group), users: [...items], ...page };
};

/** Lists the groups of the account. */
export const listGroups = async (request: ListGroupsRequest, context: Context) => {
  const { accountId } = context.caller;
  const { pathPrefix } = request;
  const all = [...context.app.identities.state(accountId).group.values()]
    .filter(({ path }) => path.startsWith(pathPrefix ?? ""))
    .map((record) => groupMessage(accountId, record));
  const { items, ...page } = pageOf(context, request, all, ({ groupName }) => groupName, [pathPrefix]);
  return { groups: [...items], ...page };
};

/** Changes the name or the path of a group. Refuses, in this order: NO_SUCH_ENTITY, ENTITY_EXISTS. */
export const updateGroup = async (
  { groupName = "", newPath, newGroupName }: UpdateGroupRequest,
  { app, caller }: Context,
) =>
  app.identities.change(caller.accountId, (state) => {
    const group = getRecord(state, "group", groupName);
    const record = { ...group, path: newPath ?? group.path, name: newGroupName ?? group.name };
    const [former, name] = [group.name.toLowerCase(), record.name.toLowerCase()];
    if (name !== former) assertFree(app.accounts, caller.accountId, state, "group", record.name, Infinity);
    const members = membersOf(state, group).map((user): Change => {
      const groups = user.groups.map((each) => (each === group.name ? record.name : each)).toSorted();
      return { kind: "user", name: user.name.toLowerCase(), record: { ...user, groups } };
    });
    const renamed: Change[] = name === former ? [] : [{ kind: "group", name: former, record: undefined }];
    return { changes: [...renamed, { kind: "group", name, record }, ...members], result: {} };
  });

/** Deletes a group. Refuses, in this order: NO_SUCH_ENTITY, DELETE_CONFLICT. */
export const deleteGroup = async ({ groupName = "" }: DeleteGroupRequest, { app, caller }: Context) =>
  app.identities.change(caller.accountId, (state) => {
    const group = getRecord(state, "group", groupName);
    if (membersOf(state, group).length > 0) throw conflict("remove users from group");
    if (Object.keys(heldBy(group).inline).length > 0) throw conflict("delete policies");
    if (heldBy(group).attached.length > 0) throw conflict("detach all policies");
    return { changes: [{ kind: "group", name: group.name.toLowerCase(), record: undefined }], result: {} };
  });

/** Adds a user to a group. Refuses, in this order: NO_SUCH_ENTITY, DECLARED_ENTITY, LIMIT_EXCEEDED. */
export const addUserToGroup = async ({ groupName = "", userName = "" }: AddUserToGroupRequest, context: Context) =>
  changeMembership(context, groupName, userName, (groups, name) => [...groups, name]);

/** Removes a user from a group. Refuses, in this order: NO_SUCH_ENTITY, DECLARED_ENTITY. */
export const removeUserFromGroup = async (
  { groupName = "", userName = "" }: RemoveUserFromGroupRequest,
  context: Context,
) => changeMembership(context, groupName, userName, (groups) => groups);

/** Lists the groups of a user. Refuses: NO_SUCH_ENTITY. */
export const listGroupsForUser = async (request: ListGroupsForUserRequest, context: Context) => {
  const { app, caller } = context;
  const { accountId } = caller;
  const state = app.identities.state(accountId);
  const { userName = "" } = request;
  const isDeclared = findDeclaredUser(app.accounts, accountId, userName) !== undefined;
  const names = isDeclared ? [] : getRecord(state, "user", userName).groups;
  const all = names.map((name) => groupMessage(accountId, getRecord(state, "group", name)));
  const { items, ...page } = pageOf(context, request, all, ({ groupName }) => groupName, [userName]);
  return { groups: [...items], ...page };
};

/** Replaces the groups of a user by what `change` makes of the others. */
const changeMembership = (
  { app, caller }: Context,
  groupName: string,
  userName: string,
  change: (others: readonly string[], name: string) => readonly string[],
) =>
  app.identities.change(caller.accountId, (state) => {
    const group = getRecord(state, "group", groupName);
    const user = getChangeable(app.accounts, caller.accountId, state, "user", userName);
    const groups = change(
      user.groups.filter((each) => each !== group.name),
      group.name,
    ).toSorted();
    if (groups.length > limits.groupsPerUserMax) throw exceeded("groups per user", limits.groupsPerUserMax);
    const record = { ...user, groups };
    return { changes: [{ kind: "user" as const, name: user.name.toLowerCase(), record }], result: {} };
  });

const membersOf = (state: AccountState, group: GroupRecord): UserRecord[] =>
  [...state.user.values()].filter((user) => user.groups.includes(group.name));

export const groupMessage = (accountId: string, record: GroupRecord) => ({
  path: record.path,
  groupName: record.name,
  groupId: record.id,
  arn: entityArn(accountId, "group", record),
  createDate: timestampFromMs(Number(record.createdMs)),
});
