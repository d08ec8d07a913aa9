import { limits } from "../../limits.ts";

/** Two profiles that may be of the same customer. */
export interface MatchPair {
  readonly profileIds: readonly [string, string];
  readonly confidence: number;
}

/** Profiles that may be of the same customer, and how sure the least sure pair is that holds them together. */
export interface MatchGroup {
  /** Ascending, two or more. */
  readonly profileIds: readonly string[];
  readonly confidence: number;
}

/**
 * Joins pairs to groups, the surest first. A pair that would make a group too large is left out, so each profile is
 * with those that it is most surely the same customer as. The result does not depend on the order of the pairs.
 */
export const groupsOf = (pairs: readonly MatchPair[]): readonly MatchGroup[] => {
  const groups = new Map<string, { profileIds: string[]; confidence: number }>();
  const groupOf = (id: string) => groups.get(id) ?? { profileIds: [id], confidence: 1 };
  for (const {
    profileIds: [a, b],
    confidence,
  } of pairs.toSorted(comparePairs)) {
    const [one, other] = [groupOf(a), groupOf(b)];
    if (one === other || one.profileIds.length + other.profileIds.length > limits.matchedProfilesMax) continue;
    const joined = {
      profileIds: [...one.profileIds, ...other.profileIds],
      confidence: Math.min(one.confidence, other.confidence, confidence),
    };
    for (const id of joined.profileIds) groups.set(id, joined);
  }
  return [...new Set(groups.values())].map(({ profileIds, confidence }) => ({
    profileIds: profileIds.toSorted(),
    confidence,
  }));
};

const comparePairs = (a: MatchPair, b: MatchPair): number =>
  b.confidence - a.confidence || (a.profileIds.join() < b.profileIds.join() ? -1 : 1);
