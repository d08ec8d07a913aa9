import type { Tag } from "../../../gen/quartet/eventbus/v1/tag_pb.ts";
import type { ServiceError } from "../../kit/faults/service-error.ts";
import { findReservedTagKey } from "../../kit/tags/tags.ts";
import { ErrorReason, fault } from "../faults.ts";
import type { BusReference } from "./arns.ts";

/** The number of tags that one resource may have. */
export const tagsMax = 50;

/** Throws PARAMETER_REFUSED if a key is reserved for the system, and DUPLICATE_ENTRY if two tags have the same key. */
export const refuseTags = (tags: readonly Tag[]): void => {
  const reserved = findReservedTagKey(tags.map(({ key }) => key));
  if (reserved !== undefined)
    throw fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: "Tags",
      reason: `Keys that begin with ${reserved.prefix} are reserved.`,
    });
  const keys = new Set<string>();
  for (const { key } of tags) {
    if (keys.has(key)) throw fault(ErrorReason.DUPLICATE_ENTRY, { kind: "tag key", key });
    keys.add(key);
  }
};

/** A bus, or a rule of a bus. */
export interface Tagged {
  readonly bus: BusReference;
  readonly rule: string | undefined;
}

/** The refusal to read or change the tags of what does not exist. */
export const taggedNotFound = ({ bus, rule }: Tagged): ServiceError =>
  fault(
    ErrorReason.TAGGED_RESOURCE_NOT_FOUND,
    rule === undefined
      ? { resource: `Event bus ${bus.name}`, place: "" }
      : { resource: `Rule ${rule}`, place: ` on EventBus ${bus.name}` },
  );

/** Tags in the order of their keys. */
export const sortTags = (tags: readonly Tag[]): Tag[] =>
  tags.toSorted((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)));

/** The tags with others added; a key that both have gets the added value. */
export const addTags = (present: readonly Tag[], added: readonly Tag[]): Tag[] => {
  const byKey = new Map([...present, ...added].map((tag) => [tag.key, tag]));
  return sortTags([...byKey.values()]);
};

/** The tags without those of some keys. */
export const removeTags = (present: readonly Tag[], keys: readonly string[]): Tag[] =>
  present.filter((tag) => !keys.includes(tag.key));
