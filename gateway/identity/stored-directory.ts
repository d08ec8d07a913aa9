import type { AccessKeyRecord } from "../../gen/quartet/identity/storage/v1/records_pb.ts";
import { providerName } from "../../services/kit/accounts/provider-arn.ts";
import type { AccessKey } from "../../services/kit/identity/access-keys.ts";
import type { AccountState } from "./domain/account-state.ts";
import type { StoredDirectory } from "./directory.ts";
import type { IdentityStates } from "./identities.ts";
import { documentOf } from "./domain/documents.ts";
import { findPolicyByArn } from "./domain/managed-policies.ts";
import { identityProviderOf } from "./domain/open-id-connect-providers.ts";
import { principalsOf } from "./domain/principals.ts";

/** The lookups of requests over what was created at run time. */
export const storedDirectory = (
  identities: IdentityStates,
  canonicalUserId: (accountId: string) => string,
): StoredDirectory => {
  const keys = new WeakMap<AccessKeyRecord, { readonly state: AccountState; readonly key: AccessKey | undefined }>();
  return {
    findUser: (accountId, name) => {
      const user = principalsOf(accountId, identities.state(accountId)).findUser(name.slice(name.lastIndexOf("/") + 1));
      return user?.name === name ? user : undefined;
    },
    findRoleByName: (accountId, name) => principalsOf(accountId, identities.state(accountId)).findRole(name),
    findAccountOfKey: (accessKeyId) => identities.accountOfKey(accessKeyId),
    findAccessKey: (accessKeyId) => {
      const accountId = identities.accountOfKey(accessKeyId);
      if (accountId === undefined) return undefined;
      const state = identities.state(accountId);
      const record = state.accessKey.get(accessKeyId);
      if (record === undefined || !record.isActive) return undefined;
      const known = keys.get(record);
      if (known?.state === state) return known.key;
      const found = keyOf(identities, accountId, accessKeyId, record);
      const key = found && { ...found, canonicalUserId: canonicalUserId(accountId) };
      keys.set(record, { state, key });
      return key;
    },
    findPolicy: (policyArn) => {
      const policy = findPolicyByArn(policyArn, (accountId) => identities.state(accountId));
      return policy && documentOf(policy);
    },
    findIdentityProvider: (accountId, issuer) => {
      const record = identities.state(accountId).identityProvider.get(providerName(issuer).toLowerCase());
      return record?.issuer === issuer ? identityProviderOf(accountId, record) : undefined;
    },
  };
};

/** The key with its user; undefined if the user does not exist, or the secret is damaged. */
const keyOf = (
  identities: IdentityStates,
  accountId: string,
  accessKeyId: string,
  record: AccessKeyRecord,
): AccessKey | undefined => {
  const secretAccessKey = identities.secretOf(accountId, accessKeyId, record);
  if (secretAccessKey === undefined) return undefined;
  const own = { accessKeyId, secretAccessKey, accountId };
  if (record.userName === "") return { ...own, policies: [] };
  const user = principalsOf(accountId, identities.state(accountId)).findUser(record.userName);
  if (user === undefined) return undefined;
  const { name, policies, permissionsBoundary, tags } = user;
  return {
    ...own,
    user: name,
    policies,
    ...(permissionsBoundary === undefined ? {} : { permissionsBoundary }),
    ...(tags === undefined ? {} : { tags }),
  };
};
