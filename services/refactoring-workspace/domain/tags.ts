export type Tags = Readonly<Record<string, string>>;

const reservedPrefixes = ["aws:", "svc:"];

/** The reserved prefix that the first such key begins with; undefined: none does. */
export const findReservedPrefix = (tags: Tags): string | undefined =>
  reservedPrefixes.find((prefix) => Object.keys(tags).some((key) => key.toLowerCase().startsWith(prefix)));

/** The tags with others added; the value of a key that both have is the other's. */
export const tagsWith = (tags: Tags, added: Tags): Tags => ({ ...tags, ...added });

/** The tags without some keys. */
export const tagsWithout = (tags: Tags, keys: readonly string[]): Tags => {
  const removed = new Set(keys);
  return Object.fromEntries(Object.entries(tags).filter(([key]) => !removed.has(key)));
};
