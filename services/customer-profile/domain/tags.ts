/** Tags of a resource, by key. */
export type Tags = Readonly<Record<string, string>>;

/** Tag keys that begin with one of these are kept for the system. */
const reservedPrefixes = ["aws:", "svc:"];

/** The first key that nobody may set, or undefined. */
export const findReservedTagKey = (tags: Tags): string | undefined =>
  Object.keys(tags).find((key) => reservedPrefixes.some((prefix) => key.toLowerCase().startsWith(prefix)));

/** The tags with more added; a key that exists gets the new value. */
export const tagsWith = (tags: Tags, added: Tags): Tags => ({ ...tags, ...added });

/** The tags without these keys. */
export const tagsWithout = (tags: Tags, keys: readonly string[]): Tags =>
  Object.fromEntries(Object.entries(tags).filter(([key]) => !keys.includes(key)));
