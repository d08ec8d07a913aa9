import type {
  GetGroupPolicyRequest,
  GetRolePolicyRequest,
  GetUserPolicyRequest,
} from "../../gen/quartet/identity/v1/identity_service_pb.ts";
import { IdentityService } from "../../gen/quartet/identity/v1/identity_service_pb.ts";
import { guarded } from "../../services/kit/server/guard.ts";
import { guard } from "./access/guard.ts";
import type { Context } from "./application.ts";
import {
  createAccessKey,
  deleteAccessKey,
  getAccessKeyLastUsed,
  listAccessKeys,
  rotateAccessKey,
  updateAccessKey,
} from "./operations/access-key.ts";
import { createAccount, deleteAccount, listAccounts } from "./operations/account.ts";
import {
  addUserToGroup,
  createGroup,
  deleteGroup,
  getGroup,
  listGroups,
  listGroupsForUser,
  removeUserFromGroup,
} from "./operations/group.ts";
import { heldPolicyOperations } from "./operations/held-policy.ts";
import {
  createPolicy,
  deletePolicy,
  getPolicy,
  getPolicyVersion,
  listPolicies,
  listPolicyVersions,
} from "./operations/policy.ts";
import { createRole, deleteRole, getRole, listRoles, updateAssumeRolePolicy, updateRole } from "./operations/role.ts";
import {
  createUser,
  deleteUser,
  getUser,
  listUsers,
  listUserTags,
  tagUser,
  untagUser,
  updateUser,
} from "./operations/user.ts";

const ofUser = heldPolicyOperations("user", ({ userName }: HolderRequest<"userName">) => userName);
const ofGroup = heldPolicyOperations("group", ({ groupName }: HolderRequest<"groupName">) => groupName);
const ofRole = heldPolicyOperations("role", ({ roleName }: HolderRequest<"roleName">) => roleName);

/** A request that names its holder in this member. */
type HolderRequest<Member extends string> = Parameters<ReturnType<typeof heldPolicyOperations>["get"]>[0] & {
  readonly [M in Member]?: string;
};

/** Every operation of the service, reached only through the guard. */
export const identityHandlers = guarded(
  IdentityService,
  {
    createUser,
    getUser,
    listUsers,
    updateUser,
    deleteUser,
    tagUser,
    untagUser,
    listUserTags,
    createAccessKey,
    listAccessKeys,
    updateAccessKey,
    rotateAccessKey,
    deleteAccessKey,
    getAccessKeyLastUsed,
    createGroup,
    getGroup,
    listGroups,
    deleteGroup,
    addUserToGroup,
    removeUserFromGroup,
    listGroupsForUser,
    createPolicy,
    getPolicy,
    getPolicyVersion,
    listPolicyVersions,
    listPolicies,
    deletePolicy,
    createRole,
    getRole,
    listRoles,
    updateRole,
    updateAssumeRolePolicy,
    deleteRole,
    putUserPolicy: ofUser.put,
    getUserPolicy: async (request: GetUserPolicyRequest, context: Context) => {
      const { name: userName, ...policy } = await ofUser.get(request, context);
      return { userName, ...policy };
    },
    listUserPolicies: ofUser.list,
    deleteUserPolicy: ofUser.delete,
    attachUserPolicy: ofUser.attach,
    detachUserPolicy: ofUser.detach,
    listAttachedUserPolicies: ofUser.listAttached,
    putGroupPolicy: ofGroup.put,
    getGroupPolicy: async (request: GetGroupPolicyRequest, context: Context) => {
      const { name: groupName, ...policy } = await ofGroup.get(request, context);
      return { groupName, ...policy };
    },
    listGroupPolicies: ofGroup.list,
    deleteGroupPolicy: ofGroup.delete,
    attachGroupPolicy: ofGroup.attach,
    detachGroupPolicy: ofGroup.detach,
    listAttachedGroupPolicies: ofGroup.listAttached,
    putRolePolicy: ofRole.put,
    getRolePolicy: async (request: GetRolePolicyRequest, context: Context) => {
      const { name: roleName, ...policy } = await ofRole.get(request, context);
      return { roleName, ...policy };
    },
    listRolePolicies: ofRole.list,
    deleteRolePolicy: ofRole.delete,
    attachRolePolicy: ofRole.attach,
    detachRolePolicy: ofRole.detach,
    listAttachedRolePolicies: ofRole.listAttached,
    createAccount,
    listAccounts,
    deleteAccount,
  },
  guard,
);
