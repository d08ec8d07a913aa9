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
import {
  createAccount,
  deleteAccount,
  getAccountSummary,
  listAccountAliases,
  listAccounts,
} from "./operations/account.ts";
import { getAccountAuthorizationDetails } from "./operations/authorization-detail.ts";
import { generateCredentialReport, getCredentialReport } from "./operations/credential-report.ts";
import {
  addUserToGroup,
  createGroup,
  deleteGroup,
  getGroup,
  listGroups,
  listGroupsForUser,
  removeUserFromGroup,
  updateGroup,
} from "./operations/group.ts";
import { heldPolicyOperations } from "./operations/held-policy.ts";
import {
  addRoleToInstanceProfile,
  createInstanceProfile,
  deleteInstanceProfile,
  getInstanceProfile,
  instanceProfileTags,
  listInstanceProfiles,
  listInstanceProfilesForRole,
  removeRoleFromInstanceProfile,
} from "./operations/instance-profile.ts";
import {
  addClientIDToOpenIDConnectProvider,
  createOpenIDConnectProvider,
  deleteOpenIDConnectProvider,
  getOpenIDConnectProvider,
  listOpenIDConnectProviders,
  openIDConnectProviderTags,
  removeClientIDFromOpenIDConnectProvider,
  updateOpenIDConnectProviderThumbprint,
} from "./operations/open-id-connect-provider.ts";
import {
  deleteAccountPasswordPolicy,
  deleteLoginProfile,
  getAccountPasswordPolicy,
  getLoginProfile,
  listMFADevices,
  listSAMLProviders,
  listServerCertificates,
  listServiceSpecificCredentials,
  listSigningCertificates,
  listSSHPublicKeys,
  listVirtualMFADevices,
} from "./operations/other-credential.ts";
import {
  createPolicy,
  deletePolicy,
  getPolicy,
  listEntitiesForPolicy,
  listPolicies,
  policyTags,
} from "./operations/policy.ts";
import {
  createPolicyVersion,
  deletePolicyVersion,
  getPolicyVersion,
  listPolicyVersions,
  setDefaultPolicyVersion,
} from "./operations/policy-version.ts";
import {
  getContextKeysForCustomPolicy,
  getContextKeysForPrincipalPolicy,
  simulateCustomPolicy,
  simulatePrincipalPolicy,
} from "./operations/policy-simulation.ts";
import { boundaryOperations } from "./operations/permissions-boundary.ts";
import {
  createRole,
  deleteRole,
  getRole,
  listRoles,
  roleTags,
  updateAssumeRolePolicy,
  updateRole,
  updateRoleDescription,
} from "./operations/role.ts";
import { createUser, deleteUser, getUser, listUsers, updateUser, userTags } from "./operations/user.ts";

const ofUser = heldPolicyOperations("user", ({ userName }: HolderRequest<"userName">) => userName);
const ofGroup = heldPolicyOperations("group", ({ groupName }: HolderRequest<"groupName">) => groupName);
const ofRole = heldPolicyOperations("role", ({ roleName }: HolderRequest<"roleName">) => roleName);

const userBoundary = boundaryOperations("user", ({ userName }: BoundaryRequest<"userName">) => userName);
const roleBoundary = boundaryOperations("role", ({ roleName }: BoundaryRequest<"roleName">) => roleName);

/** The same of a request about its boundary. */
type BoundaryRequest<Member extends string> = Parameters<ReturnType<typeof boundaryOperations>["put"]>[0] & {
  readonly [M in Member]?: string;
};

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
    tagUser: userTags.tag,
    untagUser: userTags.untag,
    listUserTags: userTags.list,
    createAccessKey,
    listAccessKeys,
    updateAccessKey,
    rotateAccessKey,
    deleteAccessKey,
    getAccessKeyLastUsed,
    createGroup,
    getGroup,
    listGroups,
    updateGroup,
    deleteGroup,
    addUserToGroup,
    removeUserFromGroup,
    listGroupsForUser,
    createPolicy,
    createPolicyVersion,
    getPolicy,
    getPolicyVersion,
    listPolicyVersions,
    setDefaultPolicyVersion,
    deletePolicyVersion,
    listEntitiesForPolicy,
    listPolicies,
    deletePolicy,
    tagPolicy: policyTags.tag,
    untagPolicy: policyTags.untag,
    listPolicyTags: policyTags.list,
    createRole,
    getRole,
    listRoles,
    updateRole,
    updateRoleDescription,
    updateAssumeRolePolicy,
    deleteRole,
    tagRole: roleTags.tag,
    untagRole: roleTags.untag,
    listRoleTags: roleTags.list,
    listInstanceProfilesForRole,
    createInstanceProfile,
    getInstanceProfile,
    listInstanceProfiles,
    addRoleToInstanceProfile,
    removeRoleFromInstanceProfile,
    deleteInstanceProfile,
    tagInstanceProfile: instanceProfileTags.tag,
    untagInstanceProfile: instanceProfileTags.untag,
    listInstanceProfileTags: instanceProfileTags.list,
    createOpenIDConnectProvider,
    getOpenIDConnectProvider,
    listOpenIDConnectProviders,
    addClientIDToOpenIDConnectProvider,
    removeClientIDFromOpenIDConnectProvider,
    updateOpenIDConnectProviderThumbprint,
    deleteOpenIDConnectProvider,
    tagOpenIDConnectProvider: openIDConnectProviderTags.tag,
    untagOpenIDConnectProvider: openIDConnectProviderTags.untag,
    listOpenIDConnectProviderTags: openIDConnectProviderTags.list,
    getLoginProfile,
    deleteLoginProfile,
    listMFADevices,
    listVirtualMFADevices,
    listSAMLProviders,
    listServerCertificates,
    listSSHPublicKeys,
    listSigningCertificates,
    listServiceSpecificCredentials,
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
    putUserPermissionsBoundary: userBoundary.put,
    deleteUserPermissionsBoundary: userBoundary.delete,
    putRolePermissionsBoundary: roleBoundary.put,
    deleteRolePermissionsBoundary: roleBoundary.delete,
    getAccountPasswordPolicy,
    deleteAccountPasswordPolicy,
    listAccountAliases,
    getAccountSummary,
    generateCredentialReport,
    getCredentialReport,
    getAccountAuthorizationDetails,
    simulatePrincipalPolicy,
    simulateCustomPolicy,
    getContextKeysForPrincipalPolicy,
    getContextKeysForCustomPolicy,
    createAccount,
    listAccounts,
    deleteAccount,
  },
  guard,
);
