import type { AccessKey } from "../identity/access-keys.ts";
import { derivedCanonicalUserId } from "../identity/canonical-user-id.ts";
import { areTooLargeToCarry, policiesDigest } from "../identity/identity-policies.ts";
import type { Policy } from "../policy/document.ts";
import { roleOfArn } from "./entity-arn.ts";

/** A declared account. */
export interface Account {
  /** 12 digits. */
  readonly id: string;
  readonly name: string | undefined;
  readonly email: string | undefined;
  /** 64 hexadecimal digits: declared, or derived from the id. */
  readonly canonicalUserId: string;
}

/** A device of an account's root that shows codes by RFC 6238. */
export interface MfaDevice {
  readonly accountId: string;
  readonly serial: string;
  readonly secret: Uint8Array;
}

/** A declared user. */
export interface User {
  readonly accountId: string;
  readonly name: string;
  /** Identity policies, JSON documents verbatim. */
  readonly policies: readonly string[];
  /** The document of its permissions boundary. Unset: it has none, as every declared one. */
  readonly permissionsBoundary?: string;
  /** Unset: none. */
  readonly tags?: Readonly<Record<string, string>>;
  /** The unique id. Unset: derived from the ARN, so that another user of the same name has the same. */
  readonly id?: string;
}

/** A declared role. */
export interface Role {
  readonly accountId: string;
  readonly name: string;
  /** `arn:aws:iam::<account>:role/<path and name>`. */
  readonly arn: string;
  /** Who may assume it. */
  readonly trustPolicy: Policy;
  /** What its sessions may do, JSON documents verbatim. */
  readonly policies: readonly string[];
  /** The document of its permissions boundary. Unset: it has none, as every declared one. */
  readonly permissionsBoundary?: string;
  /** Unset: none. */
  readonly tags?: Readonly<Record<string, string>>;
  /** The longest session in seconds. Unset: 3600. */
  readonly sessionSecondsMax?: number;
  /** The unique id. Unset: derived from the ARN, so that another role of the same name has the same. */
  readonly id?: string;
}

/** A provider of web identities, whose tokens stand for principals of one account. */
export interface IdentityProvider {
  readonly accountId: string;
  /** `arn:aws:iam::<account>:oidc-provider/<host and path of the issuer>`. */
  readonly arn: string;
  /** The `iss` of its tokens, a URL. */
  readonly issuer: string;
  /** The `aud` values that are accepted. */
  readonly audiences: readonly string[];
  /** Its public keys as a JSON Web Key Set. Unset: they are found by OpenID Connect discovery at the issuer. */
  readonly keys?: { readonly keys: readonly object[] };
}

/** The declarations of an installation. */
export interface Declared {
  readonly accounts: readonly Account[];
  readonly users: readonly User[];
  readonly roles: readonly Role[];
  /** Unset: none. */
  readonly mfaDevices?: readonly MfaDevice[];
  /** Unset: none. */
  readonly identityProviders?: readonly IdentityProvider[];
  /** Member accounts by organization id. */
  readonly organizations: ReadonlyMap<string, readonly string[]>;
  /** With their secrets; empty in a process that needs no secrets. */
  readonly accessKeys: readonly AccessKey[];
}

/**
 * Lookups over the declarations. Accounts need no declaration to exist, so an unknown one is like a declared one
 * without any member.
 */
export interface Accounts {
  /** The declared accounts in the order of the file. */
  list(): readonly Account[];
  /** The account's canonical id, declared or derived. */
  canonicalUserId(accountId: string): string;
  findUser(accountId: string, name: string): User | undefined;
  /** The declared users and roles of an account in the order of the file. */
  listUsers(accountId: string): readonly User[];
  listRoles(accountId: string): readonly Role[];
  /** The role with this ARN, whose partition may be any. */
  findRole(roleArn: string): Role | undefined;
  /** The role of an account by its name without its path, in any case. */
  findRoleByName(accountId: string, name: string): Role | undefined;
  /** The identity provider of an account with this issuer. */
  findIdentityProvider(accountId: string, issuer: string): IdentityProvider | undefined;
  /** The identity providers of an account. */
  listIdentityProviders(accountId: string): readonly IdentityProvider[];
  /** The device of the account's root with this serial number. */
  findMfaDevice(accountId: string, serial: string): MfaDevice | undefined;
  /** The id of the organization that the account is a member of. */
  findOrganizationId(accountId: string): string | undefined;
  /** The policies with this digest, of a user or role whose policies are too large for a token. */
  findPolicies(digest: string): readonly string[] | undefined;
  findAccessKey(accessKeyId: string): AccessKey | undefined;
  accessKeyIds(): readonly string[];
  /** False while a role that is not found may exist nevertheless. Unset: never. */
  knowsAllRoles?(): boolean;
}

/** By what a role of an account is found, whatever the case of its name. */
export const roleKey = (accountId: string, name: string): string => `${accountId}/${name.toLowerCase()}`;

/** Accounts that never change. */
export const accountsOf = (declared: Declared): Accounts => {
  const accounts = new Map(declared.accounts.map((account) => [account.id, account]));
  const users = new Map(declared.users.map((user) => [`${user.accountId}/${user.name}`, user]));
  const roles = new Map(declared.roles.map((role) => [roleKey(role.accountId, role.name), role]));
  const findRoleByName = (accountId: string, name: string): Role | undefined => roles.get(roleKey(accountId, name));
  const organizationIds = new Map(
    [...declared.organizations].flatMap(([id, members]) => members.map((member) => [member, id] as const)),
  );
  const largePolicies = new Map(
    [...declared.users, ...declared.roles]
      .filter(({ policies }) => areTooLargeToCarry(policies))
      .map(({ policies }) => [policiesDigest(policies), policies]),
  );
  const accessKeys = new Map(declared.accessKeys.map((key) => [key.accessKeyId, key]));
  return {
    list: () => declared.accounts,
    canonicalUserId: (accountId) => accounts.get(accountId)?.canonicalUserId ?? derivedCanonicalUserId(accountId),
    listUsers: (accountId) => declared.users.filter((user) => user.accountId === accountId),
    listRoles: (accountId) => declared.roles.filter((role) => role.accountId === accountId),
    findUser: (accountId, name) => users.get(`${accountId}/${name}`),
    findRole: (roleArn) => roleOfArn(roleArn, findRoleByName),
    findRoleByName,
    findIdentityProvider: (accountId, issuer) =>
      (declared.identityProviders ?? []).find((each) => each.accountId === accountId && each.issuer === issuer),
    listIdentityProviders: (accountId) =>
      (declared.identityProviders ?? []).filter((each) => each.accountId === accountId),
    findMfaDevice: (accountId, serial) =>
      (declared.mfaDevices ?? []).find((device) => device.accountId === accountId && device.serial === serial),
    findOrganizationId: (accountId) => organizationIds.get(accountId),
    findPolicies: (digest) => largePolicies.get(digest),
    findAccessKey: (accessKeyId) => accessKeys.get(accessKeyId),
    accessKeyIds: () => [...accessKeys.keys()],
  };
};
