import { LRUCache } from "lru-cache";

import type { GroupRecord, RoleRecord, UserRecord } from "../../gen/quartet/identity/storage/v1/records_pb.ts";
import { parsePrincipal } from "../../services/kit/access/simulation.ts";
import { namedWithPath } from "../../services/kit/accounts/entity-arn.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import {
  areTooLargeToCarry,
  carriedPoliciesOf,
  knownLargeDigest,
  policiesDigest,
} from "../../services/kit/identity/identity-policies.ts";
import { tokenLifetimeMsMax } from "../../services/kit/identity/tokens.ts";
import type { AccountState, Change } from "./domain/account-state.ts";
import { madePolicies, principalsOf } from "./domain/principals.ts";
import type { Identities } from "./identities.ts";

/**
 * The identity policies of principals that are too large for a token, which has their digest instead. Those of a
 * principal with a permissions boundary come after it.
 */
export interface PolicyLists {
  /**
   * The policies with this digest that a principal has, or that one had until a change in the last 15 minutes: a token
   * keeps the meaning that it had when it was signed. `principalArn` is the user's or that of a role's session.
   */
  find(digest: string, principalArn: string): readonly string[] | undefined;
  stop(): void;
}

const retiredBytesMax = 64 * 1024 * 1024;

/**
 * The large policies of the principals that this gateway keeps. Hashing those of all principals of an account would
 * take as long as all of their policies are large together, so that is done for no more than one at a time.
 */
export const openPolicyLists = (identities: Pick<Identities, "state" | "watch">, clock: Clock): PolicyLists => {
  const retired = new LRUCache<string, { readonly policies: readonly string[]; readonly untilMs: number }>({
    maxSize: retiredBytesMax,
    sizeCalculation: ({ policies }) => policies.reduce((sum, policy) => sum + policy.length, 1),
  });
  const stop = identities.watch(({ accountId, changes }, before) => {
    const untilMs = clock.now() + tokenLifetimeMsMax;
    for (const policies of formerPolicies(accountId, changes, before))
      retired.set(policiesDigest(policies), { policies, untilMs });
  });
  return {
    find: (digest, principalArn) => {
      const present = presentPolicies(identities, principalArn);
      if (present !== undefined && policiesDigest(present) === digest) return present;
      const old = retired.get(digest);
      return old !== undefined && clock.now() < old.untilMs ? old.policies : undefined;
    },
    stop,
  };
};

const presentPolicies = (
  identities: Pick<Identities, "state">,
  principalArn: string,
): readonly string[] | undefined => {
  const named = parsePrincipal(principalArn);
  if (named?.kind !== "user" && named?.kind !== "role") return undefined;
  const { name } = namedWithPath(named.name);
  const principals = principalsOf(named.accountId, identities.state(named.accountId));
  const found = named.kind === "user" ? principals.findUser(name) : principals.findRole(name);
  return found && carriedPoliciesOf(found);
};

/**
 * The large policies that changes may have replaced. Another gateway may have signed tokens with those of a principal
 * that is changed alone; of more principals, as of all members of a group, those count of which the digest is known
 * here.
 */
const formerPolicies = (
  accountId: string,
  changes: readonly Change[],
  before: AccountState,
): readonly (readonly string[])[] => {
  const [only] = changes;
  if (only !== undefined && changes.length === 1 && (only.kind === "user" || only.kind === "role")) {
    const principals = principalsOf(accountId, before);
    const former = only.kind === "user" ? principals.findUser(only.name) : principals.findRole(only.name);
    const carried = former && carriedPoliciesOf(former);
    return carried !== undefined && areTooLargeToCarry(carried) ? [carried] : [];
  }
  return changes
    .flatMap((change) => principalsWith(change, before))
    .flatMap((record) => {
      const policies = madePolicies(record, before);
      return policies !== undefined && knownLargeDigest(policies) !== undefined ? [policies] : [];
    });
};

/** The principals of which a record was a part. */
const principalsWith = (
  { kind, name }: Change,
  { user, role, group, policy }: AccountState,
): readonly (UserRecord | RoleRecord)[] => {
  const users = [...user.values()];
  const isMember = (groups: ReadonlySet<string>) => (each: UserRecord) =>
    each.groups.some((own) => groups.has(own.toLowerCase()));
  switch (kind) {
    case "user":
      return [user.get(name)].filter((record) => record !== undefined);
    case "role":
      return [role.get(name)].filter((record) => record !== undefined);
    case "group":
      return users.filter(isMember(new Set([name])));
    case "policy": {
      const reference = policy.get(name)?.name ?? "";
      const isAttached = ({ policies }: UserRecord | RoleRecord | GroupRecord) =>
        policies?.attached.includes(reference) === true;
      const hasIt = (each: UserRecord | RoleRecord) => isAttached(each) || each.permissionsBoundary === reference;
      const groups = new Set([...group].filter(([, each]) => isAttached(each)).map(([groupName]) => groupName));
      const members = users.filter((each) => hasIt(each) || isMember(groups)(each));
      return [...members, ...[...role.values()].filter(hasIt)];
    }
    default:
      return [];
  }
};
