import type { Accounts, IdentityProvider, Role, User } from "../../services/kit/accounts/accounts.ts";
import { pathNameOfArn, roleOfArn } from "../../services/kit/accounts/entity-arn.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import type { AccessKey, AccessKeys } from "../../services/kit/identity/access-keys.ts";
import { callerOf } from "../../services/kit/identity/access-keys.ts";
import type { Caller } from "../../services/kit/identity/caller.ts";
import { federatedUserArn, roleCaller } from "../../services/kit/identity/caller.ts";
import { derivedPrincipalId } from "../../services/kit/identity/principal-ids.ts";
import type { Session, SessionTokens } from "../../services/kit/identity/session-tokens.ts";
import type { SessionDirectory } from "../sts/application.ts";

/** Who was created at run time, as of now. */
export interface StoredDirectory {
  /** Also of a key that is inactive. */
  findAccountOfKey(accessKeyId: string): string | undefined;
  /** By the name with its path, `team/alice`. */
  findUser(accountId: string, name: string): User | undefined;
  /** By its name without its path, in any case. */
  findRoleByName(accountId: string, name: string): Role | undefined;
  findAccessKey(accessKeyId: string): AccessKey | undefined;
  findPolicy(policyArn: string): string | undefined;
  findIdentityProvider(accountId: string, issuer: string): IdentityProvider | undefined;
}

export interface DirectoryOptions {
  /** Who the configuration file declares. */
  readonly accounts: Pick<
    Accounts,
    "findRoleByName" | "findUser" | "canonicalUserId" | "findOrganizationId" | "findIdentityProvider"
  >;
  /** The lasting keys of the credentials file and of the configuration file. */
  readonly declaredKeys: AccessKeys;
  readonly stored: StoredDirectory;
  readonly sessionTokens: SessionTokens;
  readonly clock: Clock;
}

/** Everybody there is: declared, in the credentials file, stored, and in sessions. */
export interface Directory extends SessionDirectory, Required<AccessKeys> {}

/**
 * Joins who is declared with who is stored; a declared name hides a stored one. A temporary key has the rights that its
 * role or lasting key has now, so a change acts on the next request, and it ends with them.
 */
export const createDirectory = (options: DirectoryOptions): Directory => {
  const { accounts, declaredKeys, stored, sessionTokens, clock } = options;
  const findRoleByName = (accountId: string, name: string): Role | undefined =>
    accounts.findRoleByName(accountId, name) ?? stored.findRoleByName(accountId, name);
  const find = (accessKeyId: string): AccessKey | undefined => {
    const declared = declaredKeys.find(accessKeyId);
    if (declared !== undefined) return declared;
    const found = stored.findAccessKey(accessKeyId);
    if (found?.user === undefined) return found;
    return accounts.findUser(found.accountId, found.user) === undefined ? found : undefined;
  };
  const ofRoles = new WeakMap<Session, { readonly role: Role; readonly key: AccessKey }>();
  const ofKeys = new WeakMap<Session, { readonly lasting: AccessKey; readonly key: AccessKey }>();

  const roleKey = (session: Session, principal: Session["principal"] & { kind: "role" }): AccessKey | undefined => {
    const role = findRoleByName(session.accountId, principal.name);
    if (role === undefined || (role.id ?? derivedPrincipalId("AROA", role.arn)) !== principal.id) return undefined;
    const known = ofRoles.get(session);
    if (known?.role === role) return known.key;
    const { permissionsBoundary } = role;
    const caller = {
      ...roleCaller(session.accountId, pathNameOfArn(role.arn), principal.sessionName, role.policies),
      ...(permissionsBoundary === undefined ? {} : { permissionsBoundary }),
    };
    const key = temporaryKey(session, caller, role, accounts.canonicalUserId(session.accountId));
    ofRoles.set(session, { role, key });
    return key;
  };

  const keyKey = (
    session: Session,
    principal: Exclude<Session["principal"], { kind: "role" }>,
  ): AccessKey | undefined => {
    const lasting = find(principal.accessKeyId);
    if (lasting === undefined) return undefined;
    const known = ofKeys.get(session);
    if (known?.lasting === lasting) return known.key;
    const { accessKeyId: _id, ...own } = callerOf(lasting);
    const caller = principal.kind === "federated" ? federatedUser(own, principal.name) : own;
    const key = temporaryKey(session, caller, lasting, lasting.canonicalUserId);
    ofKeys.set(session, { lasting, key });
    return key;
  };

  return {
    find,
    findTemporary: (accessKeyId, sessionToken) => {
      const session = sessionTokens.read(sessionToken);
      if (session === undefined || session.accessKeyId !== accessKeyId) return undefined;
      if (clock.now() >= session.expiresMs) return "expired";
      const { principal } = session;
      return principal.kind === "role" ? roleKey(session, principal) : keyKey(session, principal);
    },
    findRole: (roleArn) => roleOfArn(roleArn, findRoleByName),
    findRoleByName,
    findUser: (accountId, name) => accounts.findUser(accountId, name) ?? stored.findUser(accountId, name),
    findPolicy: (policyArn) => stored.findPolicy(policyArn),
    findAccountOfKey: (accessKeyId) =>
      declaredKeys.find(accessKeyId)?.accountId ?? stored.findAccountOfKey(accessKeyId),
    canonicalUserId: (accountId) => accounts.canonicalUserId(accountId),
    findOrganizationId: (accountId) => accounts.findOrganizationId(accountId),
    findIdentityProvider: (accountId, issuer) =>
      accounts.findIdentityProvider(accountId, issuer) ?? stored.findIdentityProvider(accountId, issuer),
  };
};

const everything: readonly string[] = [
  JSON.stringify({ Version: "2012-10-17", Statement: [{ Effect: "Allow", Action: "*", Resource: "*" }] }),
];

/** Who has the policies of a user, or may do what a root may, under another name and as no root. */
const federatedUser = (by: Caller, name: string): Caller => ({
  ...by,
  principalArn: federatedUserArn(by.accountId, name),
  federatedBy: by.principalArn,
  isRoot: false,
  policies: by.isRoot ? everything : by.policies,
});

/** The key of a session with what the session adds to its principal, whose tags it overrides. */
const temporaryKey = (
  session: Session,
  principal: Caller,
  { tags }: Pick<Role, "tags">,
  canonicalUserId: string | undefined,
): AccessKey => {
  const { accessKeyId, secretAccessKey, accountId, issuedMs, expiresMs, transitiveTagKeys, sourceIdentity } = session;
  const allTags = mergedTags(tags ?? {}, session.tags ?? {});
  const caller: Caller = {
    ...principal,
    tokenIssueTimeMs: issuedMs,
    sessionEndMs: expiresMs,
    ...(Object.keys(allTags).length === 0 ? {} : { principalTags: allTags }),
    ...(session.policies === undefined ? {} : { sessionPolicies: session.policies }),
    ...(transitiveTagKeys === undefined ? {} : { transitiveTagKeys }),
    ...(sourceIdentity === undefined ? {} : { sourceIdentity }),
  };
  return {
    accessKeyId,
    secretAccessKey,
    accountId,
    policies: caller.policies,
    principal: caller,
    ...(canonicalUserId === undefined ? {} : { canonicalUserId }),
  };
};

/** Keys that differ only in their case are one. */
const mergedTags = (
  own: Readonly<Record<string, string>>,
  session: Readonly<Record<string, string>>,
): Record<string, string> => {
  const given = new Set(Object.keys(session).map((key) => key.toLowerCase()));
  const kept = Object.entries(own).filter(([key]) => !given.has(key.toLowerCase()));
  return { ...Object.fromEntries(kept), ...session };
};
