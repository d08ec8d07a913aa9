/** Tags of a resource: values by key. */
export type Tags = Readonly<Record<string, string>>;

/** Prefixes of tag keys that only the system sets, in either dialect. Compared without regard to case. */
const reservedPrefixes = ["aws:", "svc:"];

/** The first key that is reserved, with its prefix; undefined if there is none. */
export const findReservedTagKey = (
  keys: Iterable<string>,
): { readonly key: string; readonly prefix: string } | undefined => {
  for (const key of keys) {
    const prefix = reservedPrefixes.find((each) => key.toLowerCase().startsWith(each));
    if (prefix !== undefined) return { key, prefix };
  }
  return undefined;
};

/** The tags with others added; a key that both have gets the added value. */
export const tagsWith = (tags: Tags, added: Tags): Tags => ({ ...tags, ...added });

/** The tags without those of some keys. */
export const tagsWithout = (tags: Tags, keys: readonly string[]): Tags => {
  const removed = new Set(keys);
  return Object.fromEntries(Object.entries(tags).filter(([key]) => !removed.has(key)));
};
