import { LRUCache } from "lru-cache";

import type { Clock } from "../../services/kit/clock/clock.ts";
import { areTooLargeToCarry, policiesDigest } from "../../services/kit/identity/identity-policies.ts";
import { tokenLifetimeMsMax } from "../../services/kit/identity/tokens.ts";
import type { AccountState, Change } from "./domain/account-state.ts";
import { principalsOf } from "./domain/principals.ts";
import type { Identities } from "./identities.ts";

/** The identity policies of principals that are too large for a token, which has their digest instead. */
export interface PolicyLists {
  /**
   * The policies with this digest that a principal has, or had until a change in the last 15 minutes: a token keeps
   * the meaning that it had when it was signed.
   */
  find(digest: string): readonly string[] | undefined;
  stop(): void;
}

const retiredBytesMax = 64 * 1024 * 1024;

type Lists = ReadonlyMap<string, readonly string[]>;

/** The large policies of the principals that this gateway keeps. */
export const openPolicyLists = (
  identities: Pick<Identities, "state" | "accountIds" | "watch">,
  clock: Clock,
): PolicyLists => {
  const ofStates = new WeakMap<AccountState, Lists>();
  const retired = new LRUCache<string, { readonly policies: readonly string[]; readonly untilMs: number }>({
    maxSize: retiredBytesMax,
    sizeCalculation: ({ policies }) => policies.reduce((sum, policy) => sum + policy.length, 1),
  });
  const stop = identities.watch(({ accountId, changes }, before) => {
    const untilMs = clock.now() + tokenLifetimeMsMax;
    const names = changes.flatMap((change) => affected(change, before));
    for (const [digest, policies] of largeLists(accountId, before, names)) retired.set(digest, { policies, untilMs });
  });
  const listsOf = (accountId: string): Lists => {
    const state = identities.state(accountId);
    let lists = ofStates.get(state);
    if (lists === undefined) {
      lists = largeLists(accountId, state, allPrincipals(state));
      ofStates.set(state, lists);
    }
    return lists;
  };
  return {
    find: (digest) => {
      for (const accountId of identities.accountIds()) {
        const found = listsOf(accountId).get(digest);
        if (found !== undefined) return found;
      }
      const old = retired.get(digest);
      return old !== undefined && clock.now() < old.untilMs ? old.policies : undefined;
    },
    stop,
  };
};

type PrincipalName = readonly ["user" | "role", string];

const largeLists = (accountId: string, state: AccountState, names: readonly PrincipalName[]): Lists => {
  const principals = principalsOf(accountId, state);
  return new Map(
    names.flatMap(([kind, name]) => {
      const found = kind === "user" ? principals.findUser(name) : principals.findRole(name);
      if (found === undefined || !areTooLargeToCarry(found.policies)) return [];
      return [[policiesDigest(found.policies), found.policies] as const];
    }),
  );
};

const allPrincipals = (state: AccountState): readonly PrincipalName[] => [
  ...[...state.user.keys()].map((name) => ["user", name] as const),
  ...[...state.role.keys()].map((name) => ["role", name] as const),
];

/** The principals whose policies a change may have replaced. A managed policy in use never changes. */
const affected = ({ kind, name }: Change, before: AccountState): readonly PrincipalName[] => {
  if (kind === "user" || kind === "role") return [[kind, name]];
  if (kind !== "group") return [];
  return [...before.user]
    .filter(([, user]) => user.groups.some((group) => group.toLowerCase() === name))
    .map(([user]) => ["user", user] as const);
};
