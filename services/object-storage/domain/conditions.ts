/** What a condition is held against. */
export interface ConditionSubject {
  /** Without quotes. */
  readonly eTag: string;
  readonly lastModifiedMs: number;
}

/** Conditions of a read; instants are milliseconds. What is undefined was not given. */
export interface ReadConditions {
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  readonly ifModifiedSinceMs?: number | undefined;
  readonly ifUnmodifiedSinceMs?: number | undefined;
}

/** How a read goes on; a failed condition is named by its header. */
export type ReadVerdict =
  | { readonly kind: "proceed" }
  | { readonly kind: "not-modified" }
  | { readonly kind: "failed"; readonly condition: string };

/**
 * The conditions of a read. A true If-Match wins over If-Unmodified-Since, a given If-None-Match over
 * If-Modified-Since; an If-Modified-Since in the future counts as not given. HTTP dates have seconds, so the
 * instants are compared by the second.
 */
export const judgeRead = (conditions: ReadConditions, subject: ConditionSubject, nowMs: number): ReadVerdict => {
  const { ifMatch, ifNoneMatch, ifModifiedSinceMs, ifUnmodifiedSinceMs } = conditions;
  if (ifMatch !== undefined) {
    if (!matchesETag(ifMatch, subject.eTag)) return { kind: "failed", condition: "If-Match" };
  } else if (ifUnmodifiedSinceMs !== undefined && seconds(subject.lastModifiedMs) > seconds(ifUnmodifiedSinceMs)) {
    return { kind: "failed", condition: "If-Unmodified-Since" };
  }
  if (ifNoneMatch !== undefined)
    return matchesETag(ifNoneMatch, subject.eTag) ? { kind: "not-modified" } : { kind: "proceed" };
  if (
    ifModifiedSinceMs !== undefined &&
    ifModifiedSinceMs <= nowMs &&
    seconds(subject.lastModifiedMs) <= seconds(ifModifiedSinceMs)
  )
    return { kind: "not-modified" };
  return { kind: "proceed" };
};

/** Conditions of a write. */
export interface WriteConditions {
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}

/** How a write goes on: a condition failed, or If-Match has nothing to hold against. */
export type WriteVerdict =
  | { readonly kind: "proceed" }
  | { readonly kind: "failed"; readonly condition: string }
  | { readonly kind: "absent" };

/**
 * The conditions of a write against the current object, undefined when the key has none or a delete marker is its
 * newest version. An ETag in If-None-Match is honoured although the public service offers only `*`.
 */
export const judgeWrite = (
  conditions: WriteConditions,
  current: Pick<ConditionSubject, "eTag"> | undefined,
): WriteVerdict => {
  const { ifMatch, ifNoneMatch } = conditions;
  if (ifNoneMatch !== undefined && current !== undefined && matchesETag(ifNoneMatch, current.eTag))
    return { kind: "failed", condition: "If-None-Match" };
  if (ifMatch === undefined) return { kind: "proceed" };
  if (current === undefined) return { kind: "absent" };
  return matchesETag(ifMatch, current.eTag) ? { kind: "proceed" } : { kind: "failed", condition: "If-Match" };
};

/** Whether a list of ETags names this one. Quotes are optional, `*` names any, weakness is left aside. */
export const matchesETag = (list: string, eTag: string): boolean =>
  list
    .split(",")
    .map((item) => item.trim())
    .some((item) => item === "*" || unquoteETag(item.replace(/^W\//, "")) === eTag);

/** An ETag as HTTP writes it. */
export const quoteETag = (eTag: string): string => `"${eTag}"`;

/** An ETag without its quotes, if it has any. */
export const unquoteETag = (eTag: string): string => eTag.replace(/^"(.*)"$/, "$1");

const seconds = (ms: number): number => Math.floor(ms / 1000);
