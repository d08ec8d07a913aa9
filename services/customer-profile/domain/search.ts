/** One key of a search and the values wanted of it. */
export interface SearchClause {
  /** As the caller wrote it. */
  readonly keyName: string;
  readonly values: readonly string[];
}

/** The profiles that one value of one clause finds, in a stretch of the identifiers. */
export interface ValueHits {
  /** Index of the clause. */
  readonly clause: number;
  readonly value: string;
  /** Ascending. */
  readonly profileIds: readonly string[];
  /** False when there are more profiles behind the last one. */
  readonly isComplete: boolean;
}

/** A profile that a search finds, and by what. */
export interface SearchHit {
  readonly profileId: string;
  readonly foundBy: readonly SearchClause[];
}

/** The hits of one stretch, and where the next one begins. */
export interface SearchWindow {
  /** Ascending by identifier. */
  readonly hits: readonly SearchHit[];
  /** The last identifier that this stretch covers; undefined: it covers all that follow. */
  readonly through: string | undefined;
}

/**
 * Decides a stretch of a search. Each list of hits holds the first profiles behind the same position; so up to the
 * earliest end of an incomplete list everything is known, and nothing behind it is decided.
 */
export const decideWindow = (
  clauses: readonly SearchClause[],
  isEveryClauseNeeded: boolean,
  lists: readonly ValueHits[],
): SearchWindow => {
  const ends = lists.filter((list) => !list.isComplete).map((list) => list.profileIds.at(-1) ?? "");
  const through = ends.length === 0 ? undefined : ends.reduce((least, each) => (each < least ? each : least));
  const found = new Map<string, Map<number, string[]>>();
  for (const list of lists)
    for (const profileId of list.profileIds) {
      if (through !== undefined && profileId > through) break;
      const byClause = entryOf(found, profileId, () => new Map<number, string[]>());
      const values = entryOf(byClause, list.clause, (): string[] => []);
      if (!values.includes(list.value)) values.push(list.value);
    }
  const needed = isEveryClauseNeeded ? clauses.length : 1;
  const hits = [...found]
    .filter(([, byClause]) => byClause.size >= needed)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([profileId, byClause]) => ({ profileId, foundBy: foundBy(clauses, byClause) }));
  return { hits, through };
};

const foundBy = (
  clauses: readonly SearchClause[],
  byClause: ReadonlyMap<number, readonly string[]>,
): readonly SearchClause[] =>
  clauses.flatMap((clause, index) => {
    const values = byClause.get(index);
    return values === undefined ? [] : [{ keyName: clause.keyName, values }];
  });

const entryOf = <Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value => {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
};
