import type { MessageInitShape } from "@bufbuild/protobuf";

import type {
  CurrentVersionRecord,
  VersionRecordSchema,
} from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { SearchObjectsRequest } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type {
  SearchAttribute,
  SearchCondition,
  SearchIndexConfiguration,
} from "../../../gen/quartet/objectstorage/v1/search_pb.ts";
import { fault, invalidArgument } from "../faults.ts";
import { limits } from "../limits.ts";
import { instantMs } from "./instant.ts";

/** Where an attribute comes from. */
type AttributeSource = "Tag" | "Metadata" | "ContentType";

/** An attribute that objects are found by. */
export interface IndexedAttribute {
  readonly source: AttributeSource;
  /** The key of the tag, or the name of the metadata in lower case. Empty: the content type. */
  readonly name: string;
}

/** The parts of a version that it is found by. */
export type Indexable = Pick<
  MessageInitShape<typeof VersionRecordSchema>,
  "tags" | "metadata" | "contentHeaders" | "encryption"
>;

/** One condition that is understood. */
export interface PlannedCondition {
  readonly attribute: IndexedAttribute;
  readonly text: string;
  /** The text is the whole value; otherwise its beginning. */
  readonly isWhole: boolean;
}

/** A search that is understood. */
export interface PlannedSearch {
  /** The condition whose entries are read. */
  readonly leading: PlannedCondition;
  readonly others: readonly PlannedCondition[];
  isInRange(row: Pick<CurrentVersionRecord, "sizeBytes" | "lastModifiedMs">): boolean;
}

/** What GetObject and HeadObject say of an object that was stored without a content type. */
const unknownContentType = "binary/octet-stream";

/** The name of an attribute in keys and refusals. */
export const attributeName = ({ source, name }: IndexedAttribute): string =>
  source === "ContentType" ? "content-type" : `${source === "Tag" ? "tag" : "metadata"}/${name}`;

/** Throws MALFORMED_XML for no or too many attributes, for one twice, and for one that cannot be. */
export const planSearchIndex = (configuration: SearchIndexConfiguration | undefined): readonly IndexedAttribute[] => {
  const attributes = (configuration?.attributes ?? []).map(readAttribute);
  const names = new Set(attributes.map(attributeName));
  if (attributes.length === 0 || attributes.length > limits.searchAttributesMax || names.size < attributes.length)
    throw fault(ErrorReason.MALFORMED_XML);
  return attributes;
};

/**
 * Throws MALFORMED_XML for no or too many conditions and for one that cannot be, and INVALID_ARGUMENT for one on what
 * the bucket has no index of, in the order of the conditions.
 */
export const planSearch = (
  request: Pick<SearchObjectsRequest, "conditions" | "sizeAtLeast" | "sizeAtMost" | "modifiedSince" | "modifiedBefore">,
): PlannedSearch => {
  const conditions = request.conditions.map(readCondition);
  const leading = conditions.find(({ isWhole }) => isWhole) ?? conditions[0];
  if (leading === undefined || conditions.length > limits.searchConditionsMax) throw fault(ErrorReason.MALFORMED_XML);
  const { sizeAtLeast, sizeAtMost, modifiedSince, modifiedBefore } = request;
  const [sinceMs, beforeMs] = [modifiedSince, modifiedBefore].map((time) => time && instantMs(time));
  return {
    leading,
    others: conditions.filter((condition) => condition !== leading),
    isInRange: ({ sizeBytes, lastModifiedMs }) =>
      (sizeAtLeast === undefined || sizeBytes >= sizeAtLeast) &&
      (sizeAtMost === undefined || sizeBytes <= sizeAtMost) &&
      (sinceMs === undefined || Number(lastModifiedMs) >= sinceMs) &&
      (beforeMs === undefined || Number(lastModifiedMs) < beforeMs),
  };
};

/** Throws INVALID_ARGUMENT for the first condition on what is not indexed. */
export const checkIndexed = ({ leading, others }: PlannedSearch, indexed: readonly IndexedAttribute[]): void => {
  const names = new Set(indexed.map(attributeName));
  for (const { attribute } of [leading, ...others])
    if (!names.has(attributeName(attribute)))
      throw invalidArgument("Attribute", attributeName(attribute), "The bucket has no search index of this attribute.");
};

/**
 * The value of an attribute; undefined: the version has none. Of content under a key of the caller nothing but tags can
 * be read without that key, so nothing else has a value.
 */
export const valueOf = ({ source, name }: IndexedAttribute, version: Indexable): string | undefined => {
  if (source === "Tag") return version.tags?.find(({ key }) => key === name)?.value ?? undefined;
  if (version.encryption?.customerKey !== undefined) return undefined;
  if (source === "ContentType") return version.contentHeaders?.contentType || unknownContentType;
  const metadata = version.metadata ?? {};
  return Object.hasOwn(metadata, name) ? metadata[name] : undefined;
};

/** Whether a version meets a condition. */
export const meets = ({ attribute, text, isWhole }: PlannedCondition, version: Indexable): boolean => {
  const value = valueOf(attribute, version);
  return value !== undefined && (isWhole ? value === text : value.startsWith(text));
};

/** What a caller must be allowed to do with an object to find it by these conditions. */
export const actionsFor = ({ leading, others }: PlannedSearch): ReadonlySet<string> =>
  new Set(
    [leading, ...others].map(({ attribute: { source } }) => (source === "Tag" ? "GetObjectTagging" : "GetObject")),
  );

const readCondition = ({ attribute, equals, beginsWith }: SearchCondition): PlannedCondition => {
  const text = equals ?? beginsWith;
  if (attribute === undefined || text === undefined || (equals !== undefined && beginsWith !== undefined))
    throw fault(ErrorReason.MALFORMED_XML);
  return { attribute: readAttribute(attribute), text, isWhole: equals !== undefined };
};

const readAttribute = ({ source, name = "" }: SearchAttribute): IndexedAttribute => {
  if (source === "Tag" && name !== "" && characters(name) <= limits.tagKeyCharactersMax) return { source, name };
  if (source === "Metadata" && name !== "" && Buffer.byteLength(name) <= limits.metadataBytesMax)
    return { source, name: name.toLowerCase() };
  if (source === "ContentType" && name === "") return { source, name };
  throw fault(ErrorReason.MALFORMED_XML);
};

const characters = (text: string): number => Array.from(text).length;
