import type { Tagging } from "../../../gen/quartet/objectstorage/v1/tagging_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { findReservedTagKey } from "../../kit/tags/tags.ts";
import { fault, invalidArgument } from "../faults.ts";
import { limits } from "../limits.ts";

/** One tag. */
export interface TagPair {
  readonly key: string;
  readonly value: string;
}

const tagText = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;
const malformedHeader =
  "The header 'x-svc-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters " +
  "without tag name duplicates.";

/**
 * Parses tags in the form of URL query parameters; empty parameters are none. Throws INVALID_ARGUMENT for malformed
 * text, INVALID_TAG.
 */
export const parseTagging = (text: string): TagPair[] => {
  const parameters = text.split("&").filter((parameter) => parameter !== "");
  const pairs = parameters.map((pair) => {
    const [key = "", value = ""] = pair.split(/=(.*)/s).map((part) => decodeForm(part, text));
    return { key, value };
  });
  if (new Set(pairs.map((pair) => pair.key)).size < pairs.length)
    throw invalidArgument("x-svc-tagging", text, malformedHeader);
  checkTags(pairs, limits.tagsPerObjectMax);
  return pairs;
};

/** A set of tags, as it is stored. Throws MALFORMED_XML for a missing set, INVALID_TAG. */
export const planTagging = (tagging: Tagging | undefined, countMax: number): Tagging => {
  if (tagging === undefined) throw fault(ErrorReason.MALFORMED_XML);
  checkTags(tagPairs(tagging), countMax);
  return tagging;
};

/** The tags of a set; a missing key or value is empty. */
export const tagPairs = ({ tagSet }: Pick<Tagging, "tagSet">): TagPair[] =>
  tagSet.map(({ key = "", value = "" }) => ({ key, value }));

/** Throws INVALID_TAG for too many tags, two tags of one key, or an invalid key or value. */
export const checkTags = (tags: readonly TagPair[], countMax: number): void => {
  if (tags.length > countMax) throw invalidTag(`The tags of a resource cannot be more than ${countMax}`, "");
  const seen = new Set<string>();
  for (const { key, value } of tags) {
    if (seen.has(key)) throw invalidTag("Cannot provide multiple Tags with the same key", key);
    seen.add(key);
    if (key === "" || characters(key) > limits.tagKeyCharactersMax || !tagText.test(key))
      throw invalidTag("The TagKey you have provided is invalid", key);
    if (findReservedTagKey([key]) !== undefined)
      throw invalidTag("System tags cannot be added or updated by the requester", key);
    if (characters(value) > limits.tagValueCharactersMax || !tagText.test(value))
      throw fault(ErrorReason.INVALID_TAG, {
        explanation: "The TagValue you have provided is invalid",
        tag_key: key,
        tag_value: value,
      });
  }
};

/** The length of a key or value: its Unicode code points. */
const characters = (text: string): number => Array.from(text).length;

const invalidTag = (explanation: string, key: string) => fault(ErrorReason.INVALID_TAG, { explanation, tag_key: key });

const decodeForm = (part: string, whole: string): string => {
  try {
    return decodeURIComponent(part.replaceAll("+", " "));
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    throw invalidArgument("x-svc-tagging", whole, malformedHeader);
  }
};
