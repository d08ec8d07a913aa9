import type { Conditions } from "../../kit/access/call-conditions.ts";
import { asksFor } from "../../kit/access/identity.ts";
import type { Question } from "../../kit/access/questions.ts";
import { textOf } from "../../kit/access/questions.ts";
import type { Caller } from "../../kit/identity/caller.ts";
import { ServiceError } from "../../kit/faults/service-error.ts";
import type { CopySource } from "../domain/copy-source.ts";
import type { TagPair } from "../domain/tags.ts";
import { parseTagging, tagPairs } from "../domain/tags.ts";
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
  /** Reads the tags of the object that the question is about. Unset: it is about none. */
  readonly readTags: (() => Promise<readonly TagPair[]>) | undefined;
}

/**
 * The condition keys that only this service has and that are no member of a request: the account of the bucket, tags of
 * the object and of the request, the source of a copy as `bucket/key`. Tags are read only where a policy asks for them.
 */
export const requestConditions = (from: ConditionSource): Conditions | Promise<Conditions> => {
  const { question, caller, policy, source, readTags } = from;
  const conditions = new Map<string, readonly string[]>([
    ["s3:resourceaccount", [from.bucketAccountId]],
    ["aws:resourceaccount", [from.bucketAccountId]],
  ]);
  const isAsked = (key: string): boolean => policy?.text.includes(key) === true || asksFor(key, caller);
  if (source !== undefined) conditions.set("s3:x-amz-copy-source", [`${source.bucket}/${source.key}`]);
  if (isAsked("requestobjecttag")) {
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

/** The tags that a request sets on its object; none for tags that the operation refuses. */
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
