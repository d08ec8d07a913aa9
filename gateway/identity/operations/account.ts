import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { AccountRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import { AccountRecordSchema } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type {
  CreateAccountRequest,
  DeleteAccountRequest,
  GetAccountSummaryRequest,
  ListAccountAliasesRequest,
  ListAccountsRequest,
} from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import { namedWithPath } from "../../../services/kit/accounts/entity-arn.ts";
import { providerName } from "../../../services/kit/accounts/provider-arn.ts";
import type { Context } from "../application.ts";
import { ErrorReason, fault } from "../faults.ts";
import type { Change } from "../domain/account-state.ts";
import { conflict, noSuch } from "../domain/entities.ts";
import { limits } from "../limits.ts";
import { pageOf } from "./listing.ts";
import { newAccessKey } from "./access-key.ts";

const digits = "0123456789";

/** Creates an account with a key of its root. Refuses an e-mail address that another account has: ENTITY_EXISTS. */
export const createAccount = async ({ accountName = "", email }: CreateAccountRequest, context: Context) => {
  const { app } = context;
  const accountId = app.ids.token(12, digits);
  const { change, accessKey } = newAccessKey(context, accountId)("");
  return app.identities.createAccount(accountId, (state) => {
    // Of 10^12 numbers a random one is as good as never taken; if it is, nothing may be created in it.
    if (state.account.size > 0) throw new Error("the number of the account is taken");
    if (email !== undefined && isTaken(context, email))
      throw fault(ErrorReason.ENTITY_EXISTS, { kind: "account", entity: email });
    const record = create(AccountRecordSchema, {
      name: accountName,
      ...(email === undefined ? {} : { email }),
      createdMs: BigInt(app.clock.now()),
    });
    const own: Change = { kind: "account", name: accountId, record };
    return { changes: [own, change], result: { account: accountMessage(accountId, record), accessKey } };
  });
};

/** Lists the accounts that were created at run time. */
export const listAccounts = async (request: ListAccountsRequest, context: Context) => {
  const { identities } = context.app;
  const all = identities.accountIds().flatMap((accountId) => {
    const record = identities.state(accountId).account.get(accountId);
    return record === undefined ? [] : [accountMessage(accountId, record)];
  });
  const { items, ...page } = pageOf(context, request, all, ({ id }) => id);
  return { accounts: [...items], ...page };
};

/** Deletes an account and the keys of its root. Refuses, in this order: NO_SUCH_ENTITY, DELETE_CONFLICT. */
export const deleteAccount = async ({ accountId = "" }: DeleteAccountRequest, { app }: Context) =>
  app.identities.change(accountId, (state) => {
    if (!state.account.has(accountId)) throw noSuch("account", accountId);
    const { user, group, role, policy, identityProvider, instanceProfile } = state;
    if ([user, group, role, policy, identityProvider, instanceProfile].some(({ size }) => size > 0))
      throw conflict("delete the users, groups, roles, policies, providers and instance profiles of the account");
    const keys = [...state.accessKey.keys()].map((name): Change => ({ kind: "accessKey", name, record: undefined }));
    return { changes: [{ kind: "account", name: accountId, record: undefined }, ...keys], result: {} };
  });

/** Lists nothing. */
export const listAccountAliases = async (_request: ListAccountAliasesRequest) => ({
  accountAliases: [],
  isTruncated: false,
});

/** Counts what the account has. A declared user or role hides a stored one of its name. */
export const getAccountSummary = async (_request: GetAccountSummaryRequest, { app, caller }: Context) => {
  const { accountId } = caller;
  const { user, group, role, policy, instanceProfile, identityProvider } = app.identities.state(accountId);
  const users = app.accounts.listUsers(accountId).map((declared) => namedWithPath(declared.name).name);
  const roles = app.accounts.listRoles(accountId).map((declared) => declared.name);
  const providers = app.accounts.listIdentityProviders(accountId).map(({ issuer }) => providerName(issuer));
  const countOf = (declared: readonly string[], stored: ReadonlyMap<string, unknown>): number =>
    new Set([...declared.map((name) => name.toLowerCase()), ...stored.keys()]).size;
  return {
    summaryMap: {
      Users: countOf(users, user),
      UsersQuota: limits.usersMax,
      Groups: group.size,
      GroupsQuota: limits.groupsMax,
      GroupsPerUserQuota: limits.groupsPerUserMax,
      Roles: countOf(roles, role),
      RolesQuota: limits.rolesMax,
      Policies: policy.size,
      PoliciesQuota: limits.policiesMax,
      PolicySizeQuota: limits.managedPolicyCharactersMax,
      VersionsPerPolicyQuota: limits.policyVersionsMax,
      AttachedPoliciesPerUserQuota: limits.attachedPoliciesMax,
      AttachedPoliciesPerGroupQuota: limits.attachedPoliciesMax,
      AttachedPoliciesPerRoleQuota: limits.attachedPoliciesMax,
      UserPolicySizeQuota: limits.inlinePoliciesCharactersMax.user,
      GroupPolicySizeQuota: limits.inlinePoliciesCharactersMax.group,
      RolePolicySizeQuota: limits.inlinePoliciesCharactersMax.role,
      AssumeRolePolicySizeQuota: limits.trustPolicyCharactersMax,
      InstanceProfiles: instanceProfile.size,
      InstanceProfilesQuota: limits.instanceProfilesMax,
      Providers: countOf(providers, identityProvider),
      AccessKeysPerUserQuota: limits.keysPerUserMax,
      AccountMFAEnabled: 0,
      MFADevices: 0,
      MFADevicesInUse: 0,
    },
  };
};

/** Grants name accounts by their addresses, in any case. */
const isTaken = ({ app }: Context, email: string): boolean => {
  const created = app.identities
    .accountIds()
    .map((accountId) => app.identities.state(accountId).account.get(accountId)?.email);
  const all = [...created, ...app.accounts.list().map((account) => account.email)];
  return all.some((each) => each?.toLowerCase() === email.toLowerCase());
};

const accountMessage = (id: string, record: AccountRecord) => ({
  id,
  name: record.name,
  ...(record.email === undefined ? {} : { email: record.email }),
  createDate: timestampFromMs(Number(record.createdMs)),
});
