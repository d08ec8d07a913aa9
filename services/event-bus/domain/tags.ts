import type { Tag } from "../../../gen/quartet/eventbus/v1/tag_pb.ts";
import { ErrorReason, fault } from "../faults.ts";

/** Tags that one resource may have. */
export const tagsMax = 50;

/** Refuses tags of which two have the same key. Throws DUPLICATE_ENTRY. */
export const refuseTags = (tags: readonly Tag[]): void => {
  const keys = new Set<string>();
  for (const { key } of tags) {
    if (keys.has(key)) throw fault(ErrorReason.DUPLICATE_ENTRY, { kind: "tag key", key });
    keys.add(key);
  }
};

/** Tags in the order of their keys. */
export const sortTags = (tags: readonly Tag[]): Tag[] =>
  tags.toSorted((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)));

/** The tags with some added; a key that is there gets the new value. */
export const addTags = (present: readonly Tag[], added: readonly Tag[]): Tag[] => {
  const byKey = new Map([...present, ...added].map((tag) => [tag.key, tag]));
  return sortTags([...byKey.values()]);
};

/** The tags without those of some keys. */
export const removeTags = (present: readonly Tag[], keys: readonly string[]): Tag[] =>
  present.filter((tag) => !keys.includes(tag.key));
