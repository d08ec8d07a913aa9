import { limits } from "../../limits.ts";

/** Two profiles that may be of the same customer, and how much speaks for it. */
export interface MatchPair {
  readonly profileIds: readonly [string, string];
  readonly strength: number;
}

/** Profiles that may be of the same customer, and the strength of the weakest pair that holds them together. */
export interface MatchGroup {
  /** Ascending, two or more. */
  readonly profileIds: readonly string[];
  readonly strength: number;
}

/**
 * Joins pairs to groups, the strongest first. A pair that would make a group too large is left out, so each profile is
 * with those that most speaks for. The result does not depend on the order of the pairs.
 */
export const groupsOf = (pairs: readonly MatchPair[]): readonly MatchGroup[] => {
  const groups = new Map<string, { profileIds: string[]; strength: number }>();
  const groupOf = (id: string) => groups.get(id) ?? { profileIds: [id], strength: Infinity };
  for (const {
    profileIds: [a, b],
    strength,
  } of pairs.toSorted(comparePairs)) {
    const [one, other] = [groupOf(a), groupOf(b)];
    if (one === other || one.profileIds.length + other.profileIds.length > limits.matchedProfilesMax) continue;
    const joined = {
      profileIds: [...one.profileIds, ...other.profileIds],
      strength: Math.min(one.strength, other.strength, strength),
    };
    for (const id of joined.profileIds) groups.set(id, joined);
  }
  return [...new Set(groups.values())].map(({ profileIds, strength }) => ({
    profileIds: profileIds.toSorted(),
    strength,
  }));
};

const comparePairs = (a: MatchPair, b: MatchPair): number =>
  b.strength - a.strength || (a.profileIds.join() < b.profileIds.join() ? -1 : 1);
