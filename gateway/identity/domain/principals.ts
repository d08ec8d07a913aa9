import type {
  HeldPolicies,
  PolicyRecord,
  RoleRecord,
  UserRecord,
} from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type { Role, User } from "../../../services/kit/accounts/accounts.ts";
import { entityArn, pathName } from "../../../services/kit/accounts/entity-arn.ts";
import { parseTrustPolicy } from "../../../services/kit/accounts/trust-policy.ts";
import type { AccountState } from "./account-state.ts";
import { carriedPoliciesOf } from "../../../services/kit/identity/identity-policies.ts";
import { denyingAll, documentOf, withoutSpace } from "./documents.ts";
import { findReferred } from "./managed-policies.ts";

/** The principals of an account as requests meet them. */
export interface Principals {
  /** By the user's own name, in any case. */
  findUser(name: string): User | undefined;
  /** By the role's own name, in any case. */
  findRole(name: string): Role | undefined;
}

const known = new WeakMap<AccountState, Principals>();

/** The principals of a state, each made when it is first asked for and then kept as long as the state. */
export const principalsOf = (accountId: string, state: AccountState): Principals => {
  let principals = known.get(state);
  if (principals === undefined) {
    const users = new Map<string, User>();
    const roles = new Map<string, Role>();
    principals = {
      findUser: (name) => kept(users, name.toLowerCase(), state.user, (record) => userOf(accountId, record, state)),
      findRole: (name) => kept(roles, name.toLowerCase(), state.role, (record) => roleOf(accountId, record, state)),
    };
    known.set(state, principals);
  }
  return principals;
};

const lists = new WeakMap<UserRecord | RoleRecord, readonly string[]>();

/**
 * The policies of a principal as they were last made of its record, after the boundary that it has in a state;
 * undefined: nobody has asked for them yet.
 */
export const madePolicies = (record: UserRecord | RoleRecord, state: AccountState): readonly string[] | undefined => {
  const policies = lists.get(record);
  return policies && carriedPoliciesOf({ policies, ...boundaryOf(record, state) });
};

/**
 * The list that was made of a record before if it still has the same documents, in whatever state: what is computed of
 * a list, such as its digest, is kept with it.
 */
const keptList = (record: UserRecord | RoleRecord, documents: readonly string[]): readonly string[] => {
  const former = lists.get(record);
  if (former?.length === documents.length && former.every((each, index) => each === documents[index])) return former;
  lists.set(record, documents);
  return documents;
};

/** The documents of a user's policies and its groups', as they are in the state. */
const policiesOfUser = (user: UserRecord, state: AccountState): readonly string[] =>
  keptList(user, [
    ...documentsOf(user.policies, state),
    ...user.groups.flatMap((group) => documentsOf(state.group.get(group.toLowerCase())?.policies, state)),
  ]);

/** The documents of a role's policies, as they are in the state. */
const policiesOfRole = (role: RoleRecord, state: AccountState): readonly string[] =>
  keptList(role, documentsOf(role.policies, state));

const kept = <R, P>(
  made: Map<string, P>,
  name: string,
  records: ReadonlyMap<string, R>,
  make: (record: R) => P,
): P | undefined => {
  const found = made.get(name);
  if (found !== undefined) return found;
  const record = records.get(name);
  if (record === undefined) return undefined;
  const principal = make(record);
  made.set(name, principal);
  return principal;
};

const userOf = (accountId: string, record: UserRecord, state: AccountState): User => ({
  accountId,
  name: pathName(record),
  id: record.id,
  policies: policiesOfUser(record, state),
  ...boundaryOf(record, state),
  ...tagsOf(record.tags),
});

const roleOf = (accountId: string, record: RoleRecord, state: AccountState): Role => ({
  accountId,
  name: record.name,
  arn: entityArn(accountId, "role", record),
  id: record.id,
  trustPolicy: parseTrustPolicy(record.trustPolicy),
  policies: policiesOfRole(record, state),
  ...boundaryOf(record, state),
  sessionSecondsMax: record.sessionSecondsMax,
  ...tagsOf(record.tags),
});

/** The document of the boundary as it is in the state. */
const boundaryOf = ({ permissionsBoundary }: UserRecord | RoleRecord, state: AccountState) => {
  if (permissionsBoundary === undefined) return {};
  const policy = findReferred(state, permissionsBoundary);
  return { permissionsBoundary: policy === undefined ? denyingAll : managedDocuments.of(policy) };
};

const tagsOf = (tags: Readonly<Record<string, string>>) => (Object.keys(tags).length === 0 ? {} : { tags });

/** Without white space, because policies travel between processes. */
const documentsOf = (held: HeldPolicies | undefined, state: AccountState): string[] =>
  held === undefined
    ? []
    : [
        ...inlineDocuments.of(held),
        ...held.attached.flatMap((reference) => {
          const policy = findReferred(state, reference);
          return policy === undefined ? [] : managedDocuments.of(policy);
        }),
      ];

/** What is made of a record is kept as long as the record, which outlives many states. */
const keptWith = <R extends object, T>(make: (record: R) => T): { of(record: R): T } => {
  const made = new WeakMap<R, { readonly value: T }>();
  return {
    of: (record) => {
      let found = made.get(record);
      if (found === undefined) {
        found = { value: make(record) };
        made.set(record, found);
      }
      return found.value;
    },
  };
};

const inlineDocuments = keptWith(({ inline }: HeldPolicies) =>
  Object.keys(inline)
    .toSorted()
    .map((name) => withoutSpace(inline[name] ?? "")),
);
const managedDocuments = keptWith((policy: PolicyRecord) => withoutSpace(documentOf(policy)));
