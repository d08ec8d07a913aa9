import type { HeldPolicies, RoleRecord, UserRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import { entityArn, pathName, pathNameOfArn, principalInArn } from "../../../services/kit/accounts/entity-arn.ts";
import { inPublicPartition } from "../../../services/kit/arn/arn.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { roleCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import type { Tags } from "../../../services/kit/tags/tags.ts";
import type { DeclaredAccounts } from "../application.ts";
import type { AccountState } from "./account-state.ts";
import { denyingAll, documentOf } from "./documents.ts";
import { findDeclaredRole, findDeclaredUser, heldBy, noSuch } from "./entities.ts";
import { findReferred } from "./managed-policies.ts";

/** A policy as a simulation names it, verbatim. */
export interface PolicySource {
  readonly id: string;
  readonly document: string;
}

/** Whose policies are simulated. */
export interface SimulatedEntity {
  readonly sources: readonly PolicySource[];
  /** Who has them, without policies. Undefined of a group: nobody in particular. */
  readonly principal: Caller | undefined;
  /** The policy that is its boundary. Undefined: it has none. */
  readonly boundary?: PolicySource | undefined;
}

/** A user, group or role of the account by its ARN, with all policies that count for it. Throws NO_SUCH_ENTITY. */
export const simulatedEntity = (
  accounts: DeclaredAccounts,
  accountId: string,
  state: AccountState,
  arn: string,
): SimulatedEntity => {
  const named = principalInArn(arn);
  const found = named && finders[named.kind](accounts, accountId, state, named.name);
  if (found === undefined || found.arn !== inPublicPartition(arn)) throw noSuch(named?.kind ?? "", named?.name ?? "");
  return found;
};

type Found = SimulatedEntity & { readonly arn: string };
type Find = (accounts: DeclaredAccounts, accountId: string, state: AccountState, name: string) => Found | undefined;

const findUser: Find = (accounts, accountId, state, name) => {
  const declared = findDeclaredUser(accounts, accountId, name);
  if (declared !== undefined) {
    const principal = tagged(userCaller(accountId, declared.name, []), declared.tags);
    return { arn: principal.principalArn, principal, sources: numbered(`user_${name}`, declared.policies) };
  }
  const user = state.user.get(name.toLowerCase());
  if (user === undefined) return undefined;
  const groups = user.groups.flatMap((group) => state.group.get(group.toLowerCase()) ?? []);
  const principal = tagged(userCaller(accountId, pathName(user), []), user.tags);
  return {
    arn: principal.principalArn,
    principal,
    boundary: boundaryOf(user, state),
    sources: [
      ...sourcesOf(`user_${user.name}`, heldBy(user), state),
      ...groups.flatMap((group) => sourcesOf(`group_${group.name}`, heldBy(group), state)),
    ],
  };
};

const findGroup: Find = (_accounts, accountId, state, name) => {
  const group = state.group.get(name.toLowerCase());
  if (group === undefined) return undefined;
  const sources = sourcesOf(`group_${group.name}`, heldBy(group), state);
  return { arn: entityArn(accountId, "group", group), principal: undefined, sources };
};

const findRole: Find = (accounts, accountId, state, name) => {
  const declared = findDeclaredRole(accounts, accountId, name);
  if (declared !== undefined) {
    const principal = roleCaller(accountId, pathNameOfArn(declared.arn), sessionName, []);
    const sources = numbered(`role_${declared.name}`, declared.policies);
    return { arn: declared.arn, principal: tagged(principal, declared.tags), sources };
  }
  const role = state.role.get(name.toLowerCase());
  if (role === undefined) return undefined;
  return {
    arn: entityArn(accountId, "role", role),
    principal: tagged(roleCaller(accountId, pathName(role), sessionName, []), role.tags),
    boundary: boundaryOf(role, state),
    sources: sourcesOf(`role_${role.name}`, heldBy(role), state),
  };
};

const finders = { user: findUser, group: findGroup, role: findRole };

/** What the session of a simulated role is called. */
const sessionName = "simulation";

const tagged = (principal: Caller, tags: Tags | undefined): Caller =>
  tags === undefined || Object.keys(tags).length === 0 ? principal : { ...principal, principalTags: tags };

const boundaryOf = (
  { permissionsBoundary }: Pick<UserRecord | RoleRecord, "permissionsBoundary">,
  state: AccountState,
): PolicySource | undefined => {
  if (permissionsBoundary === undefined) return undefined;
  const policy = findReferred(state, permissionsBoundary);
  return { id: policy?.name ?? permissionsBoundary, document: policy === undefined ? denyingAll : documentOf(policy) };
};

const numbered = (prefix: string, documents: readonly string[]): PolicySource[] =>
  documents.map((document, index) => ({ id: `${prefix}_${index + 1}`, document }));

const sourcesOf = (prefix: string, { inline, attached }: HeldPolicies, state: AccountState): PolicySource[] => [
  ...Object.keys(inline)
    .toSorted()
    .map((name) => ({ id: `${prefix}_${name}`, document: inline[name] ?? "" })),
  ...attached.flatMap((reference) => {
    const policy = findReferred(state, reference);
    return policy === undefined ? [] : [{ id: policy.name, document: documentOf(policy) }];
  }),
];
