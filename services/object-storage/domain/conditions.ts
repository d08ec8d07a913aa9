/** The object that conditions are evaluated against. */
export interface ConditionSubject {
  /** Without quotes. */
  readonly eTag: string;
  readonly lastModifiedMs: number;
}

/** Conditions of a read; instants are milliseconds. Undefined ones were not given. */
export interface ReadConditions {
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  readonly ifModifiedSinceMs?: number | undefined;
  readonly ifUnmodifiedSinceMs?: number | undefined;
}

/** The outcome of a read's conditions; a failed one is named by its header. */
export type ReadOutcome =
  | { readonly kind: "proceed" }
  | { readonly kind: "not-modified" }
  | { readonly kind: "failed"; readonly condition: string };

/**
 * Evaluates the conditions of a read. A true If-Match wins over If-Unmodified-Since, a given If-None-Match over
 * If-Modified-Since; an If-Modified-Since in the future counts as not given. HTTP dates have seconds, so the
 * instants are compared by the second.
 */
export const evaluateReadConditions = (
  conditions: ReadConditions,
  subject: ConditionSubject,
  nowMs: number,
): ReadOutcome => {
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

/**
 * Whether a range of the object is still a range of what the caller has a part of: If-Range names its ETag, or exactly
 * its Last-Modified. A weak ETag names no bytes.
 */
export const allowsRange = (ifRange: string, subject: ConditionSubject): boolean =>
  unquoteETag(ifRange.trim()) === subject.eTag || Date.parse(ifRange) === seconds(subject.lastModifiedMs) * 1000;

/** Conditions of a write. Undefined ones were not given. */
export interface WriteConditions {
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}

/** The outcome of a write's conditions; `absent`: If-Match was given and there is no current object. */
export type WriteOutcome =
  | { readonly kind: "proceed" }
  | { readonly kind: "failed"; readonly condition: string }
  | { readonly kind: "absent" };

/**
 * Evaluates the conditions of a write against the current object, undefined if the key has none or its newest version
 * is a delete marker. An ETag in If-None-Match is honoured although the public service offers only `*`.
 */
export const evaluateWriteConditions = (
  conditions: WriteConditions,
  current: Pick<ConditionSubject, "eTag"> | undefined,
): WriteOutcome => {
  const { ifMatch, ifNoneMatch } = conditions;
  if (ifNoneMatch !== undefined && current !== undefined && matchesETag(ifNoneMatch, current.eTag))
    return { kind: "failed", condition: "If-None-Match" };
  if (ifMatch === undefined) return { kind: "proceed" };
  if (current === undefined) return { kind: "absent" };
  return matchesETag(ifMatch, current.eTag) ? { kind: "proceed" } : { kind: "failed", condition: "If-Match" };
};

/** Whether a list of ETags names this one. Quotes are optional, `*` names any, `W/` is ignored. */
export const matchesETag = (list: string, eTag: string): boolean => {
  const quoted = quoteETag(eTag);
  const spellings = new Set(["*", eTag, quoted, `W/${eTag}`, `W/${quoted}`]);
  return list.split(",").some((item) => spellings.has(item.trim()));
};

/** An ETag as HTTP writes it. */
export const quoteETag = (eTag: string): string => `"${eTag}"`;

/** An ETag without its quotes, if it has any. */
export const unquoteETag = (eTag: string): string => eTag.replace(/^"(.*)"$/, "$1");

const seconds = (ms: number): number => Math.floor(ms / 1000);
