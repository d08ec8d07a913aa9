import type {
  LifecycleConfiguration,
  LifecycleExpiration,
  LifecycleRule,
  LifecycleRuleAndOperator,
  LifecycleRuleFilter,
} from "../../../gen/quartet/objectstorage/v1/lifecycle_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault, invalidArgument, invalidRequest } from "../faults.ts";
import { limits } from "../limits.ts";
import type { Instant } from "./instant.ts";
import { instantMs } from "./instant.ts";
import { transitionClasses } from "./storage-class.ts";
import { checkTags } from "./tags.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** The classes to which objects move by rules only after so many days. */
const daysMin: Readonly<Record<string, number>> = { STANDARD_IA: 30, ONEZONE_IA: 30 };

/**
 * The rules of a bucket, as they are stored: each has an id. Throws MALFORMED_XML for what breaks the schema, and then
 * INVALID_ARGUMENT or INVALID_REQUEST for values and combinations that are not possible, the first rule's first.
 */
export const planLifecycle = (
  configuration: LifecycleConfiguration | undefined,
  makeId: () => string,
): LifecycleConfiguration => {
  const rules = configuration?.rules ?? [];
  if (configuration === undefined || rules.length === 0 || rules.length > limits.lifecycleRulesMax)
    throw fault(ErrorReason.MALFORMED_XML);
  for (const rule of rules) checkSchema(rule);
  for (const rule of rules) checkValues(rule);
  const ids = rules.flatMap(({ id }) => (id ? [id] : []));
  const repeated = ids.find((id, index) => ids.indexOf(id) !== index);
  if (repeated !== undefined)
    throw invalidArgument("ID", repeated, "Rule ID must be unique. Found same ID for more than one rule");
  return { ...configuration, rules: rules.map((rule) => ({ ...rule, id: rule.id || makeId() })) };
};

/** The conditions of a rule; unset ones hold for every object. */
export interface RuleFilter {
  readonly prefix: string;
  readonly tags: readonly { readonly key: string; readonly value: string }[];
  readonly sizeGreaterThan: number | undefined;
  readonly sizeLessThan: number | undefined;
}

/** The conditions of a rule, whatever form they were put in. */
export const filterOf = ({ prefix, filter }: Pick<LifecycleRule, "prefix" | "filter">): RuleFilter => {
  const conditions = conditionsOf(filter);
  return {
    prefix: prefix ?? conditions.prefix ?? "",
    tags: conditions.tags.map(({ key, value }) => ({ key: key ?? "", value: value ?? "" })),
    sizeGreaterThan: sizeOf(conditions.objectSizeGreaterThan),
    sizeLessThan: sizeOf(conditions.objectSizeLessThan),
  };
};

const conditionsOf = (
  filter: LifecycleRuleFilter | undefined,
): Pick<LifecycleRuleAndOperator, "tags"> & Partial<LifecycleRuleAndOperator> => {
  if (filter?.and !== undefined) return filter.and;
  const { tag, prefix, objectSizeGreaterThan, objectSizeLessThan } = filter ?? {};
  return {
    tags: tag === undefined ? [] : [tag],
    ...(prefix !== undefined && { prefix }),
    ...(objectSizeGreaterThan !== undefined && { objectSizeGreaterThan }),
    ...(objectSizeLessThan !== undefined && { objectSizeLessThan }),
  };
};

const sizeOf = (bytes: bigint | undefined): number | undefined => (bytes === undefined ? undefined : Number(bytes));

/** How many of the values are given. */
const count = (...values: readonly unknown[]): number => values.filter((value) => value !== undefined).length;

const checkSchema = (rule: LifecycleRule): void => {
  const { status, prefix, filter, expiration, transitions, noncurrentVersionTransitions: noncurrent } = rule;
  const isValid =
    (status === "Enabled" || status === "Disabled") &&
    count(prefix, filter) === 1 &&
    isFilter(filter) &&
    isExpiration(expiration, filterOf(rule)) &&
    transitions.every(({ days, date, storageClass }) => count(days, date) === 1 && isTransitionClass(storageClass)) &&
    noncurrent.every((each) => each.noncurrentDays !== undefined && isTransitionClass(each.storageClass)) &&
    hasDays(rule.noncurrentVersionExpiration?.noncurrentDays, rule.noncurrentVersionExpiration) &&
    hasDays(rule.abortIncompleteMultipartUpload?.daysAfterInitiation, rule.abortIncompleteMultipartUpload);
  if (!isValid) throw fault(ErrorReason.MALFORMED_XML);
};

const hasDays = (days: number | undefined, action: object | undefined): boolean =>
  action === undefined || days !== undefined;

const isTransitionClass = (name: string | undefined): boolean => name !== undefined && transitionClasses.has(name);

/** One condition, or several joined by And. */
const isFilter = (filter: LifecycleRuleFilter | undefined): boolean => {
  if (filter === undefined) return true;
  const { prefix, tag, objectSizeGreaterThan: greater, objectSizeLessThan: less, and } = filter;
  if (count(prefix, tag, greater, less, and) > 1) return false;
  return (
    and === undefined || count(and.prefix, and.objectSizeGreaterThan, and.objectSizeLessThan) + and.tags.length >= 2
  );
};

/** Delete markers have no tags and no size. */
const isExpiration = (expiration: LifecycleExpiration | undefined, filter: RuleFilter): boolean => {
  if (expiration === undefined) return true;
  const { days, date, expiredObjectDeleteMarker } = expiration;
  return (
    count(days, date, expiredObjectDeleteMarker) === 1 &&
    (expiredObjectDeleteMarker === undefined || isByPrefixOnly(filter))
  );
};

const isByPrefixOnly = ({ tags, sizeGreaterThan, sizeLessThan }: RuleFilter): boolean =>
  tags.length === 0 && sizeGreaterThan === undefined && sizeLessThan === undefined;

const checkValues = (rule: LifecycleRule): void => {
  const { id, expiration, transitions, noncurrentVersionTransitions, noncurrentVersionExpiration } = rule;
  const abort = rule.abortIncompleteMultipartUpload;
  if (id !== undefined && id.length > limits.lifecycleRuleIdLengthMax)
    throw invalidArgument("ID", id, "ID length should not exceed allowed limit of 255");
  const filter = filterOf(rule);
  checkFilter(filter);
  if (
    expiration === undefined &&
    transitions.length === 0 &&
    noncurrentVersionTransitions.length === 0 &&
    noncurrentVersionExpiration === undefined &&
    abort === undefined
  )
    throw invalidRequest("At least one action needs to be specified in a rule");
  checkPositive("Days", expiration?.days, "'Days' for Expiration action must be a positive integer");
  checkMidnight(expiration?.date);
  checkTransitions(rule);
  checkPositive(
    "NoncurrentDays",
    noncurrentVersionExpiration?.noncurrentDays,
    "'NoncurrentDays' for NoncurrentVersionExpiration action must be a positive integer",
  );
  for (const { newerNoncurrentVersions: newer } of [
    ...(noncurrentVersionExpiration === undefined ? [] : [noncurrentVersionExpiration]),
    ...noncurrentVersionTransitions,
  ])
    if (newer !== undefined && (newer < 1 || newer > limits.newerNoncurrentVersionsMax))
      throw invalidArgument(
        "NewerNoncurrentVersions",
        String(newer),
        "'NewerNoncurrentVersions' must be a positive integer, and not greater than 100",
      );
  checkPositive(
    "DaysAfterInitiation",
    abort?.daysAfterInitiation,
    "'DaysAfterInitiation' for AbortIncompleteMultipartUpload action must be a positive integer",
  );
  if (abort !== undefined && !isByPrefixOnly(filter))
    throw invalidRequest("AbortIncompleteMultipartUpload cannot be specified with Tags or object sizes.");
};

const checkFilter = ({ tags, sizeGreaterThan, sizeLessThan }: RuleFilter): void => {
  if (new Set(tags.map(({ key }) => key)).size < tags.length)
    throw invalidRequest("Duplicate Tag Keys are not allowed.");
  checkTags(tags, limits.tagsPerObjectMax);
  if ((sizeGreaterThan ?? 0) < 0 || (sizeLessThan ?? 1) <= 0)
    throw invalidArgument("ObjectSize", String(sizeGreaterThan ?? sizeLessThan), "Object sizes must be positive");
  if (sizeGreaterThan !== undefined && sizeLessThan !== undefined && sizeLessThan <= sizeGreaterThan)
    throw invalidRequest("'ObjectSizeLessThan' has to be a value greater than 'ObjectSizeGreaterThan'.");
};

const checkTransitions = ({ expiration, transitions, noncurrentVersionTransitions }: LifecycleRule): void => {
  for (const { days, date, storageClass = "" } of transitions) {
    const least = daysMin[storageClass] ?? 0;
    if (days !== undefined && days < least)
      throw invalidArgument(
        "Days",
        String(days),
        `'Days' in Transition action must be greater than or equal to ${least} for storageClass '${storageClass}'`,
      );
    checkMidnight(date);
    if (expiration?.days !== undefined && days !== undefined && expiration.days <= days)
      throw invalidArgument(
        "Days",
        String(expiration.days),
        "'Days' in the Expiration action must be greater than 'Days' in the Transition action",
      );
  }
  for (const { noncurrentDays = 0, storageClass = "" } of noncurrentVersionTransitions) {
    const least = daysMin[storageClass] ?? 0;
    if (noncurrentDays < least)
      throw invalidArgument(
        "NoncurrentDays",
        String(noncurrentDays),
        `'NoncurrentDays' must be greater than or equal to ${least} for storageClass '${storageClass}'`,
      );
  }
  for (const each of [transitions, noncurrentVersionTransitions])
    if (new Set(each.map(({ storageClass }) => storageClass)).size < each.length)
      throw invalidRequest("'StorageClass' must be different for 'Transition' actions in same 'Rule'");
  const dates = [...transitions, ...(expiration === undefined ? [] : [expiration])];
  if (dates.some(({ days }) => days !== undefined) && dates.some(({ date }) => date !== undefined))
    throw invalidRequest("Found mixed 'Date' and 'Days' based Expiration and Transition actions in lifecycle rule");
};

const checkPositive = (name: string, days: number | undefined, explanation: string): void => {
  if (days !== undefined && days <= 0) throw invalidArgument(name, String(days), explanation);
};

const checkMidnight = (date: Instant | undefined): void => {
  if (date !== undefined && (instantMs(date) % dayMs !== 0 || date.nanos !== 0))
    throw invalidArgument("Date", new Date(instantMs(date)).toISOString(), "'Date' must be at midnight GMT");
};
