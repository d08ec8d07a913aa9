import type { Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { InstanceProfileRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import { InstanceProfileRecordSchema } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type {
  AddRoleToInstanceProfileRequest,
  CreateInstanceProfileRequest,
  DeleteInstanceProfileRequest,
  GetInstanceProfileRequest,
  ListInstanceProfilesForRoleRequest,
  ListInstanceProfilesRequest,
  RemoveRoleFromInstanceProfileRequest,
} from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import { entityArn } from "../../../services/kit/accounts/entity-arn.ts";
import { idAlphabet } from "../../../services/kit/identity/principal-ids.ts";
import type { Context } from "../application.ts";
import type { AccountState, Change } from "../domain/account-state.ts";
import { assertFree, conflict, exceeded, getRecord, noSuch, profilesOfRole, withTags } from "../domain/entities.ts";
import { limits } from "../limits.ts";
import { pageOf } from "./listing.ts";
import { findRoleMessage, roleMessage } from "./role.ts";
import { tagList, tagOperations } from "./tags.ts";

type ProfileTagsRequest = Message & { readonly instanceProfileName?: string };

/** Creates an instance profile without a role. Refuses, in this order: ENTITY_EXISTS, LIMIT_EXCEEDED, INVALID_VALUE. */
export const createInstanceProfile = async (request: CreateInstanceProfileRequest, context: Context) => {
  const { instanceProfileName: name = "", path = "/", tags } = request;
  const { app, caller } = context;
  return app.identities.change(caller.accountId, (state) => {
    assertFree(app.accounts, caller.accountId, state, "instanceProfile", name, limits.instanceProfilesMax);
    const record = create(InstanceProfileRecordSchema, {
      name,
      path,
      id: `AIPA${app.ids.token(17, idAlphabet)}`,
      createdMs: BigInt(app.clock.now()),
      tags: withTags({}, tags),
    });
    return { changes: [put(record)], result: { instanceProfile: profileMessage(context, record) } };
  });
};

/** Returns an instance profile. Refuses: NO_SUCH_ENTITY. */
export const getInstanceProfile = async (
  { instanceProfileName = "" }: GetInstanceProfileRequest,
  context: Context,
) => ({
  instanceProfile: profileMessage(context, getRecord(stateOf(context), "instanceProfile", instanceProfileName)),
});

/** Lists the instance profiles of the account. */
export const listInstanceProfiles = async (request: ListInstanceProfilesRequest, context: Context) => {
  const { pathPrefix } = request;
  const all = [...stateOf(context).instanceProfile.values()].filter(({ path }) => path.startsWith(pathPrefix ?? ""));
  return profilePage(context, request, all, pathPrefix);
};

/** Lists the instance profiles that have a role. Refuses: NO_SUCH_ENTITY. */
export const listInstanceProfilesForRole = async (request: ListInstanceProfilesForRoleRequest, context: Context) => {
  const { roleName } = roleMessage(context, request.roleName ?? "");
  return profilePage(context, request, profilesOfRole(stateOf(context), roleName), roleName);
};

/** Gives an instance profile its role. Refuses, in this order: NO_SUCH_ENTITY, LIMIT_EXCEEDED. */
export const addRoleToInstanceProfile = async (
  { instanceProfileName = "", roleName: given = "" }: AddRoleToInstanceProfileRequest,
  context: Context,
) =>
  changeProfile(context, instanceProfileName, (profile) => {
    const { roleName } = roleMessage(context, given);
    if (profile.roleName !== "")
      throw exceeded("InstanceSessionsPerInstanceProfile", limits.rolesPerInstanceProfileMax);
    return { ...profile, roleName };
  });

/** Takes the role of an instance profile. Refuses, of one that it does not have, too: NO_SUCH_ENTITY. */
export const removeRoleFromInstanceProfile = async (
  { instanceProfileName = "", roleName = "" }: RemoveRoleFromInstanceProfileRequest,
  context: Context,
) =>
  changeProfile(context, instanceProfileName, (profile) => {
    if (profile.roleName.toLowerCase() !== roleName.toLowerCase()) throw noSuch("role", roleName);
    return { ...profile, roleName: "" };
  });

/** Deletes an instance profile. Refuses, in this order: NO_SUCH_ENTITY, DELETE_CONFLICT. */
export const deleteInstanceProfile = async (
  { instanceProfileName = "" }: DeleteInstanceProfileRequest,
  { app, caller }: Context,
) =>
  app.identities.change(caller.accountId, (state) => {
    const { name, roleName } = getRecord(state, "instanceProfile", instanceProfileName);
    if (roleName !== "") throw conflict("remove roles from instance profile");
    return { changes: [{ kind: "instanceProfile", name: name.toLowerCase(), record: undefined }], result: {} };
  });

/** The operations on the tags of an instance profile. */
export const instanceProfileTags = tagOperations({
  kind: "instanceProfile",
  nameOf: ({ instanceProfileName }: ProfileTagsRequest) => instanceProfileName,
  getChangeable: (_context, state, { instanceProfileName = "" }) =>
    getRecord(state, "instanceProfile", instanceProfileName),
  read: (context, { instanceProfileName = "" }) =>
    tagList(getRecord(stateOf(context), "instanceProfile", instanceProfileName).tags),
});

const stateOf = ({ app, caller }: Context): AccountState => app.identities.state(caller.accountId);

const changeProfile = (
  { app, caller }: Context,
  name: string,
  change: (profile: InstanceProfileRecord) => InstanceProfileRecord,
) =>
  app.identities.change(caller.accountId, (state) => ({
    changes: [put(change(getRecord(state, "instanceProfile", name)))],
    result: {},
  }));

const put = (record: InstanceProfileRecord): Change => ({
  kind: "instanceProfile",
  name: record.name.toLowerCase(),
  record,
});

const profilePage = (
  context: Context,
  request: Message,
  records: readonly InstanceProfileRecord[],
  filter: string | undefined,
) => {
  const { items, ...page } = pageOf(context, request, records, ({ name }) => name, [filter]);
  return { instanceProfiles: items.map((record) => profileMessage(context, record)), ...page };
};

/** A role that was declared and is no longer there is not shown. */
export const profileMessage = (context: Context, record: InstanceProfileRecord) => {
  const role = record.roleName === "" ? undefined : findRoleMessage(context, record.roleName);
  return {
    path: record.path,
    instanceProfileName: record.name,
    instanceProfileId: record.id,
    arn: entityArn(context.caller.accountId, "instance-profile", record),
    createDate: timestampFromMs(Number(record.createdMs)),
    roles: role === undefined ? [] : [role],
    tags: tagList(record.tags),
  };
};
