import type {
  GroupRecord,
  HeldPolicies,
  InstanceProfileRecord,
  PolicyRecord,
  RoleRecord,
  UserRecord,
} from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type { Role, User } from "../../../services/kit/accounts/accounts.ts";
import { namedWithPath } from "../../../services/kit/accounts/entity-arn.ts";
import type { DeclaredAccounts } from "../application.ts";
import { ErrorReason, fault } from "../faults.ts";
import { limits } from "../limits.ts";
import type { AccountState } from "./account-state.ts";
import { findPolicyByArn, referenceTo } from "./managed-policies.ts";

/** What policies are put on. */
export type HolderKind = "user" | "group" | "role";
export type Holder = UserRecord | GroupRecord | RoleRecord;

export const findDeclaredUser = (accounts: DeclaredAccounts, accountId: string, name: string): User | undefined =>
  accounts.listUsers(accountId).find((user) => namedWithPath(user.name).name.toLowerCase() === name.toLowerCase());

export const findDeclaredRole = (accounts: DeclaredAccounts, accountId: string, name: string): Role | undefined =>
  accounts.listRoles(accountId).find((role) => role.name.toLowerCase() === name.toLowerCase());

/** The kinds of entities that are found by their names, as refusals call them. */
const kindNames = {
  user: "user",
  group: "group",
  role: "role",
  policy: "policy",
  instanceProfile: "instance profile",
} as const;
type NamedKind = keyof typeof kindNames;

/** The record of a kind by its name in any case. Throws NO_SUCH_ENTITY. */
export const getRecord = <K extends NamedKind>(
  state: AccountState,
  kind: K,
  name: string,
): AccountState[K] extends ReadonlyMap<string, infer Found> ? Found : never => {
  const found = state[kind].get(name.toLowerCase());
  if (found === undefined) throw noSuch(kindNames[kind], name);
  return found as ReturnType<typeof getRecord<K>>;
};

/** The record of a principal that may be changed. Throws DECLARED_ENTITY and NO_SUCH_ENTITY. */
export const getChangeable = <K extends HolderKind>(
  accounts: DeclaredAccounts,
  accountId: string,
  state: AccountState,
  kind: K,
  name: string,
): ReturnType<typeof getRecord<K>> => {
  if (isDeclared(accounts, accountId, kind, name)) throw fault(ErrorReason.DECLARED_ENTITY, { kind, entity: name });
  return getRecord(state, kind, name);
};

/** The reference to the policy that a request names as a boundary; undefined: none. Throws NO_SUCH_ENTITY. */
export const boundaryReference = (
  accountId: string,
  state: AccountState,
  { permissionsBoundary }: { readonly permissionsBoundary?: string | undefined },
): string | undefined =>
  permissionsBoundary === undefined ? undefined : referenceTo(policyByArn(accountId, state, permissionsBoundary));

/** Throws ENTITY_EXISTS for a name that is declared or stored, and LIMIT_EXCEEDED for one more than there may be. */
export const assertFree = (
  accounts: DeclaredAccounts,
  accountId: string,
  state: AccountState,
  kind: NamedKind,
  name: string,
  max: number,
): void => {
  if (state[kind].has(name.toLowerCase()) || isDeclared(accounts, accountId, kind, name))
    throw fault(ErrorReason.ENTITY_EXISTS, { kind: kindNames[kind], entity: name });
  if (state[kind].size >= max) throw exceeded(`${kindNames[kind]} count per account`, max);
};

const isDeclared = (accounts: DeclaredAccounts, accountId: string, kind: string, name: string): boolean =>
  (kind === "user" && findDeclaredUser(accounts, accountId, name) !== undefined) ||
  (kind === "role" && findDeclaredRole(accounts, accountId, name) !== undefined);

export const noSuch = (kind: string, entity: string): Error => fault(ErrorReason.NO_SUCH_ENTITY, { kind, entity });

export const exceeded = (quota: string, limit: number): Error =>
  fault(ErrorReason.LIMIT_EXCEEDED, { quota, limit: String(limit) });

export const conflict = (remedy: string): Error => fault(ErrorReason.DELETE_CONFLICT, { remedy });

/** The managed policy with this ARN of the account, or a common one. Throws NO_SUCH_ENTITY. */
export const policyByArn = (accountId: string, state: AccountState, policyArn: string): PolicyRecord => {
  const found = findPolicyByArn(policyArn, (account) => (account === accountId ? state : undefined));
  if (found === undefined) throw noSuch("policy", policyArn);
  return found;
};

/** The instance profiles that have a role. */
export const profilesOfRole = ({ instanceProfile }: AccountState, roleName: string): InstanceProfileRecord[] =>
  [...instanceProfile.values()].filter((profile) => profile.roleName === roleName);

/** The policies that a record holds. */
export const heldBy = (holder: Holder): HeldPolicies => holder.policies!;

/** Throws LIMIT_EXCEEDED for more tags than a principal may have. */
const checkedTags = (tags: Readonly<Record<string, string>>): Record<string, string> => {
  if (Object.keys(tags).length > limits.tagsMax) throw exceeded("tags of a principal", limits.tagsMax);
  return { ...tags };
};

/** The tags with others added. Keys that differ only in their case are one. Throws INVALID_VALUE for a repeated one. */
export const withTags = (
  own: Readonly<Record<string, string>>,
  added: readonly { readonly key: string; readonly value: string }[],
): Record<string, string> => {
  const keys = added.map(({ key }) => key.toLowerCase());
  if (new Set(keys).size < keys.length) throw fault(ErrorReason.INVALID_VALUE, { problem: duplicateKeys });
  const kept = withoutTags(own, keys);
  return checkedTags({ ...kept, ...Object.fromEntries(added.map(({ key, value }) => [key, value])) });
};

const duplicateKeys = "Duplicate tag keys found. Please note that Tag keys are case insensitive.";

export const withoutTags = (own: Readonly<Record<string, string>>, keys: readonly string[]): Record<string, string> => {
  const removed = new Set(keys.map((key) => key.toLowerCase()));
  return Object.fromEntries(Object.entries(own).filter(([key]) => !removed.has(key.toLowerCase())));
};
