import { asksFor } from "../../kit/access/identity.ts";
import type { Question } from "../../kit/access/questions.ts";
import { textOf } from "../../kit/access/questions.ts";
import type { Caller } from "../../kit/identity/caller.ts";
import { ServiceError } from "../../kit/faults/service-error.ts";
import type { CopySource } from "../domain/copy-source.ts";
import type { Instant } from "../domain/instant.ts";
import { instantMs } from "../domain/instant.ts";
import type { TagPair } from "../domain/tags.ts";
import { parseTagging, tagPairs } from "../domain/tags.ts";
import type { ServiceKey } from "./service-keys.ts";
import type { BucketPolicy } from "./stored-policies.ts";

/** What the condition keys of this service are found from. */
export interface ConditionSource {
  readonly question: Question;
  readonly hasMember: (name: string) => boolean;
  readonly caller: Caller;
  readonly policy: BucketPolicy | undefined;
  readonly bucketAccountId: string;
  /** Of a copy. */
  readonly source: CopySource | undefined;
  /** The time of the service, in milliseconds since 1970. */
  readonly nowMs: number;
  /** Reads the tags of the object that the question is about. Unset: it is about none. */
  readonly readTags: (() => Promise<readonly TagPair[]>) | undefined;
}

/** Keys that only this service has, and their values. */
type ServiceConditions = ReadonlyMap<ServiceKey, readonly string[]>;

/**
 * The condition keys that only this service has and that are no member of a request: the account of the bucket, tags of
 * the object and of the request, the source of a copy as `bucket/key` and its version where that is read, the lock that
 * the request sets. Tags and locks are read only where a policy asks for them.
 */
export const requestConditions = (from: ConditionSource): ServiceConditions | Promise<ServiceConditions> => {
  const { question, caller, policy, source, readTags } = from;
  const conditions = new Map<ServiceKey, readonly string[]>([
    ["s3:resourceaccount", [from.bucketAccountId]],
    ["aws:resourceaccount", [from.bucketAccountId]],
  ]);
  const isAsked = (key: string): boolean => policy?.text.includes(key) === true || asksFor(key, caller);
  if (source !== undefined) conditions.set("s3:x-amz-copy-source", [`${source.bucket}/${source.key}`]);
  if (source?.versionId !== undefined && question.permission.template === "{copy_source}")
    conditions.set("s3:versionid", [source.versionId]);
  if (isAsked("object-lock")) for (const [key, value] of lockConditions(from)) conditions.set(key, [value]);
  if (readTags === undefined) {
    for (const [key, values] of tagConditions(requestTags(question, from.hasMember))) conditions.set(key, values);
  } else if (isAsked("requestobjecttag")) {
    const tags = requestTags(question, from.hasMember);
    for (const { key, value } of tags) conditions.set(`s3:requestobjecttag/${key.toLowerCase()}`, [value]);
    if (tags.length > 0)
      conditions.set(
        "s3:requestobjecttagkeys",
        tags.map(({ key }) => key),
      );
  }
  if (readTags === undefined || !isAsked("existingobjecttag")) return conditions;
  return readTags().then((tags) => {
    for (const { key, value } of tags) conditions.set(`s3:existingobjecttag/${key.toLowerCase()}`, [value]);
    return conditions;
  });
};

/** The tags that a request sets on a bucket, under the keys that all services have for them. */
export const tagConditions = (tags: readonly TagPair[]): ServiceConditions => {
  const conditions = new Map<ServiceKey, readonly string[]>();
  for (const { key, value } of tags) conditions.set(`aws:requesttag/${key.toLowerCase()}`, [value]);
  if (tags.length > 0)
    conditions.set(
      "aws:tagkeys",
      tags.map(({ key }) => key),
    );
  return conditions;
};

const dayMs = 86_400_000;
const dateMsMax = 8_640_000_000_000_000;

/** The lock that a request sets on its object as its document, and until when as its document or by a header. */
const lockConditions = ({ question, hasMember, nowMs }: ConditionSource): (readonly [ServiceKey, string])[] => {
  const read = (document: string, member: string): unknown => (hasMember(document) ? question.read(member) : undefined);
  const mode = read("retention", "retention.mode");
  const hold = read("legal_hold", "legal_hold.status");
  const until = (read("retention", "retention.retain_until_date") ??
    read("object_lock_retain_until_date", "object_lock_retain_until_date")) as Instant | undefined;
  const conditions: (readonly [ServiceKey, string])[] = [];
  if (typeof mode === "string") conditions.push(["s3:object-lock-mode", mode]);
  if (typeof hold === "string") conditions.push(["s3:object-lock-legal-hold", hold]);
  const untilMs = until === undefined ? Number.NaN : instantMs(until);
  // An instant that no date has is left to the operation, which refuses it.
  if (Math.abs(untilMs) <= dateMsMax) {
    const days = Math.ceil((untilMs - nowMs) / dayMs);
    conditions.push(["s3:object-lock-retain-until-date", new Date(untilMs).toISOString()]);
    conditions.push(["s3:object-lock-remaining-retention-days", String(days)]);
  }
  return conditions;
};

/** The tags that a request sets; none for tags that the operation refuses. */
const requestTags = (question: Question, hasMember: (name: string) => boolean): readonly TagPair[] => {
  if (!hasMember("tagging")) return [];
  const tagging = question.read("tagging");
  if (typeof tagging === "object" && tagging !== null) return tagPairs(tagging as Parameters<typeof tagPairs>[0]);
  try {
    return parseTagging(textOf(question, "tagging"));
  } catch (error) {
    if (error instanceof ServiceError) return [];
    throw error;
  }
};
