import { compareIds, idText } from "./identifier.ts";

/** One key of a search with the wanted values. */
export interface SearchClause {
  /** As the caller spelled it. */
  readonly keyName: string;
  readonly values: readonly string[];
}

/** The profiles that one value of one clause finds, from a position in the order of identifiers. */
export interface ValueHits {
  /** Index of the clause. */
  readonly clause: number;
  readonly value: string;
  /** Ascending. */
  readonly profileIds: readonly Uint8Array[];
  /** False if there are more profiles after the last one. */
  readonly isComplete: boolean;
}

/** A profile that a search finds, and the values that found it. */
export interface SearchHit {
  readonly profileId: Uint8Array;
  readonly foundBy: readonly SearchClause[];
}

/** The hits in one range of identifiers, and where the next range begins. */
export interface SearchWindow {
  /** Ascending by identifier. */
  readonly hits: readonly SearchHit[];
  /** The last identifier of the range; undefined if it reaches to the end. */
  readonly through: Uint8Array | undefined;
}

/**
 * Decides one range of a search. Each list contains the first profiles after the same position, so everything is known
 * up to the earliest end of an incomplete list; identifiers after it are left to the next range.
 */
export const decideWindow = (
  clauses: readonly SearchClause[],
  isEveryClauseNeeded: boolean,
  lists: readonly ValueHits[],
): SearchWindow => {
  const through = earliestEnd(lists);
  const found = new Map<string, { readonly profileId: Uint8Array; readonly byClause: Map<number, Set<string>> }>();
  for (const { clause, value, profileIds } of lists)
    for (const profileId of profileIds) {
      if (through !== undefined && compareIds(profileId, through) > 0) break;
      const { byClause } = entryOf(found, idText(profileId), () => ({ profileId, byClause: new Map() }));
      entryOf(byClause, clause, () => new Set<string>()).add(value);
    }
  const needed = isEveryClauseNeeded ? clauses.length : 1;
  const hits = [...found.values()]
    .filter(({ byClause }) => byClause.size >= needed)
    .toSorted((a, b) => compareIds(a.profileId, b.profileId))
    .map(({ profileId, byClause }) => ({ profileId, foundBy: foundBy(clauses, byClause) }));
  return { hits, through };
};

const earliestEnd = (lists: readonly ValueHits[]): Uint8Array | undefined => {
  let earliest: Uint8Array | undefined;
  for (const { profileIds, isComplete } of lists) {
    const end = isComplete ? undefined : profileIds.at(-1);
    if (end !== undefined && (earliest === undefined || compareIds(end, earliest) < 0)) earliest = end;
  }
  return earliest;
};

const foundBy = (
  clauses: readonly SearchClause[],
  byClause: ReadonlyMap<number, ReadonlySet<string>>,
): readonly SearchClause[] =>
  clauses.flatMap((clause, index) => {
    const values = byClause.get(index);
    return values === undefined ? [] : [{ keyName: clause.keyName, values: [...values] }];
  });

const entryOf = <Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value => {
  let value = map.get(key);
  if (value === undefined) {
    value = create();
    map.set(key, value);
  }
  return value;
};
