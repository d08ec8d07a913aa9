import type { LifecycleConfiguration, LifecycleRule } from "../../../gen/quartet/objectstorage/v1/lifecycle_pb.ts";
import { instantMs } from "./instant.ts";
import type { RuleFilter } from "./lifecycle.ts";
import { filterOf } from "./lifecycle.ts";
import { indexRules } from "./rule-index.ts";
import { limits } from "../limits.ts";
import { isArchive, isColderClass } from "./storage-class.ts";

/** The rules of a bucket, ready to be applied. */
export interface LifecycleRules {
  readonly rules: readonly (LifecycleRule & { readonly conditions: RuleFilter })[];
  /** The rules that a version with this key and these tags may meet, in their order; its size may still say no. */
  readonly rulesFor: (facts: Pick<VersionFacts, "key" | "tags">) => LifecycleRules["rules"];
  /** How many newer versions decide at most. */
  readonly newerMax: number;
  /** Whether objects of every size move to the archive classes, and not only those from 128 KiB on. */
  readonly archivesSmallObjects: boolean;
  /** How long a day lasts, in milliseconds. */
  readonly dayMs: number;
}

/** What the rules look at of a version. Instants are milliseconds. */
export interface VersionFacts {
  readonly key: string;
  readonly isDeleteMarker: boolean;
  readonly isNewest: boolean;
  /** No other version of the key exists. */
  readonly isOnly: boolean;
  readonly lastModifiedMs: number;
  /** When the next newer version was made; undefined for the newest. */
  readonly noncurrentSinceMs: number | undefined;
  /** How many versions that are not current are newer. */
  readonly newerNoncurrent: number;
  readonly sizeBytes: number;
  readonly storageClass: string;
  readonly tags: readonly { readonly key: string; readonly value: string }[];
}

/** What a rule does with a version. */
export type LifecycleAction =
  | { readonly kind: "expire" | "remove"; readonly ruleId: string }
  | { readonly kind: "transition"; readonly ruleId: string; readonly storageClass: string };

/** When the current version of a key ends by a rule. */
export interface Expiry {
  readonly atMs: number;
  readonly ruleId: string;
}

const realDayMs = 24 * 60 * 60 * 1000;
const transitionBytesMin = 128 * 1024;

/** The enabled rules of a configuration. */
export const readLifecycle = (
  configuration: LifecycleConfiguration,
  transitionMinimum: string,
  dayMs: number,
): LifecycleRules => {
  const rules = configuration.rules
    .filter(({ status }) => status === "Enabled")
    .map((rule) => ({ ...rule, conditions: filterOf(rule) }));
  const kept = rules.flatMap(({ noncurrentVersionExpiration, noncurrentVersionTransitions }) =>
    [noncurrentVersionExpiration, ...noncurrentVersionTransitions].map((each) => each?.newerNoncurrentVersions ?? 0),
  );
  return {
    rules,
    rulesFor: indexRules(rules),
    newerMax: Math.min(Math.max(0, ...kept), limits.newerNoncurrentVersionsMax),
    archivesSmallObjects: transitionMinimum === "varies_by_storage_class",
    dayMs,
  };
};

/**
 * What the rules do with a version now; undefined: nothing. `expire` is for the newest version of a key, which is
 * deleted as a caller would without a version id; `remove` removes the version. Deleting wins over moving, and of the
 * classes that a version would be moved to the coldest.
 */
export const decideAction = (lifecycle: LifecycleRules, facts: VersionFacts, nowMs: number) => {
  let moved: LifecycleAction | undefined;
  // Delete markers have no tags, and one goes by a rule of its prefix.
  for (const rule of lifecycle.rulesFor(facts)) {
    const deletion = decideDeletion(lifecycle, rule, facts, nowMs);
    if (deletion !== undefined) return deletion;
    const storageClass = decideClass(lifecycle, rule, facts, nowMs);
    if (storageClass !== undefined && (moved?.kind !== "transition" || isColderClass(storageClass, moved.storageClass)))
      moved = { kind: "transition", ruleId: rule.id ?? "", storageClass };
  }
  return moved;
};

/** When the current version of a key ends by days or date, and by which rule; undefined: never. */
export const expiryOf = (
  lifecycle: LifecycleRules,
  facts: Pick<VersionFacts, "key" | "lastModifiedMs" | "sizeBytes" | "tags">,
): Expiry | undefined => {
  let first: Expiry | undefined;
  for (const rule of lifecycle.rulesFor(facts)) {
    if (!fitsSize(rule.conditions, facts)) continue;
    const atMs = dueMs(rule.expiration, facts.lastModifiedMs, lifecycle.dayMs);
    if (atMs !== undefined && (first === undefined || atMs < first.atMs)) first = { atMs, ruleId: rule.id ?? "" };
  }
  return first;
};

/** When an upload is aborted, and by which rule; undefined: never. */
export const abortOf = (lifecycle: LifecycleRules, key: string, initiatedMs: number): Expiry | undefined => {
  let first: Expiry | undefined;
  for (const { id = "", abortIncompleteMultipartUpload: abort } of lifecycle.rulesFor({ key, tags: [] })) {
    if (abort === undefined) continue;
    const atMs = afterDays(initiatedMs, abort.daysAfterInitiation ?? 0, lifecycle.dayMs);
    if (first === undefined || atMs < first.atMs) first = { atMs, ruleId: id };
  }
  return first;
};

/** The value of the header that announces the end of an object. */
export const describeExpiry = ({ atMs, ruleId }: Expiry): string =>
  `expiry-date="${new Date(atMs).toUTCString()}", rule-id="${encodeURIComponent(ruleId)}"`;

/** So many days after an instant, and then the next midnight UTC; days of another length end without it. */
export const afterDays = (sinceMs: number, days: number, dayMs: number): number => {
  const atMs = sinceMs + days * dayMs;
  return dayMs === realDayMs ? Math.ceil(atMs / dayMs) * dayMs : atMs;
};

type Rule = LifecycleRules["rules"][number];

const decideDeletion = (
  { dayMs }: LifecycleRules,
  rule: Rule,
  facts: VersionFacts,
  nowMs: number,
): LifecycleAction | undefined => {
  const { id: ruleId = "", expiration, noncurrentVersionExpiration: noncurrent } = rule;
  if (facts.isNewest) {
    const atMs = dueMs(expiration, facts.lastModifiedMs, dayMs);
    const isDue = atMs !== undefined && atMs <= nowMs;
    if (!facts.isDeleteMarker)
      return isDue && fitsSize(rule.conditions, facts) ? { kind: "expire", ruleId } : undefined;
    // A marker that hides nothing goes when it is asked for, and when an object of its age would.
    const isWanted = expiration?.expiredObjectDeleteMarker === true || (isDue && rule.conditions.tags.length === 0);
    return facts.isOnly && isWanted ? { kind: "remove", ruleId } : undefined;
  }
  if (noncurrent === undefined || facts.noncurrentSinceMs === undefined || !fitsSize(rule.conditions, facts))
    return undefined;
  const isDue = afterDays(facts.noncurrentSinceMs, noncurrent.noncurrentDays ?? 0, dayMs) <= nowMs;
  return isDue && facts.newerNoncurrent >= (noncurrent.newerNoncurrentVersions ?? 0)
    ? { kind: "remove", ruleId }
    : undefined;
};

/** The coldest class that the rule moves the version to now; undefined: it stays. */
const decideClass = (
  { dayMs, archivesSmallObjects }: LifecycleRules,
  rule: Rule,
  facts: VersionFacts,
  nowMs: number,
): string | undefined => {
  if (facts.isDeleteMarker || !fitsSize(rule.conditions, facts)) return undefined;
  const { sizeGreaterThan, sizeLessThan } = rule.conditions;
  const isSmall = sizeGreaterThan === undefined && sizeLessThan === undefined && facts.sizeBytes < transitionBytesMin;
  const due = facts.isNewest
    ? rule.transitions.filter((each) => (dueMs(each, facts.lastModifiedMs, dayMs) ?? Infinity) <= nowMs)
    : rule.noncurrentVersionTransitions.filter(
        (each) =>
          facts.newerNoncurrent >= (each.newerNoncurrentVersions ?? 0) &&
          afterDays(facts.noncurrentSinceMs ?? nowMs, each.noncurrentDays ?? 0, dayMs) <= nowMs,
      );
  let coldest: string | undefined;
  for (const { storageClass = "" } of due) {
    if (isSmall && !(archivesSmallObjects && isArchive(storageClass))) continue;
    if (isColderClass(storageClass, coldest ?? facts.storageClass)) coldest = storageClass;
  }
  return coldest;
};

const dueMs = (
  action: { readonly days?: number; readonly date?: Parameters<typeof instantMs>[0] } | undefined,
  sinceMs: number,
  dayMs: number,
): number | undefined => {
  if (action?.date !== undefined) return instantMs(action.date);
  return action?.days === undefined ? undefined : afterDays(sinceMs, action.days, dayMs);
};

/** Prefix and tags have been decided by the index. */
const fitsSize = ({ sizeGreaterThan, sizeLessThan }: RuleFilter, facts: Pick<VersionFacts, "sizeBytes">): boolean =>
  (sizeGreaterThan === undefined || facts.sizeBytes > sizeGreaterThan) &&
  (sizeLessThan === undefined || facts.sizeBytes < sizeLessThan);
