import type { Reader, Transaction } from "../../kit/store/store.ts";
import type { Indexable, IndexedAttribute, PlannedCondition } from "../domain/search.ts";
import { attributeName, valueOf } from "../domain/search.ts";
import { searchEntries } from "./search-entries.ts";

/** The index of a bucket's current versions. */
export interface SearchIndex {
  readonly indexId: string;
  readonly attributes: readonly IndexedAttribute[];
  /** All current versions are indexed. */
  readonly isActive: boolean;
}

/** An entry of an index: a key, by its value of an attribute. */
export interface FoundKey {
  readonly value: string;
  readonly key: string;
}

/** The entries of a version, of its attributes and values. */
const entriesOf = ({ attributes }: SearchIndex, version: Indexable | undefined): Map<string, string> => {
  const entries = new Map<string, string>();
  if (version === undefined) return entries;
  for (const attribute of attributes) {
    const value = valueOf(attribute, version);
    if (value !== undefined) entries.set(attributeName(attribute), value);
  }
  return entries;
};

/** Replaces the entries of a key's current version by those of another one; undefined: it has none. */
export const replaceEntries = (
  transaction: Transaction,
  index: SearchIndex,
  key: string,
  before: Indexable | undefined,
  after: Indexable | undefined,
): void => {
  const [removed, added] = [entriesOf(index, before), entriesOf(index, after)];
  for (const [attribute, value] of removed)
    if (added.get(attribute) !== value) transaction.delete(searchEntries, [index.indexId, attribute, value, key]);
  for (const [attribute, value] of added)
    if (removed.get(attribute) !== value) transaction.put(searchEntries, [index.indexId, attribute, value, key], {});
};

/** Adds the entries of a key's current version, whether or not they are there. */
export const addEntries = (transaction: Transaction, index: SearchIndex, key: string, version: Indexable): void =>
  replaceEntries(transaction, index, key, undefined, version);

/** Reads the next entries that meet a condition, of keys with a prefix where the whole value is known. */
export const readFoundKeys = async (
  reader: Reader,
  { indexId }: SearchIndex,
  { attribute, text, isWhole }: PlannedCondition,
  keyPrefix: string,
  after: FoundKey | undefined,
  limit: number,
): Promise<FoundKey[]> => {
  const name = attributeName(attribute);
  const found = await reader.list(searchEntries, {
    prefix: isWhole ? [indexId, name, text, keyPrefix] : [indexId, name, text],
    textPrefix: true,
    ...(after && { after: [indexId, name, after.value, after.key] }),
    limit,
  });
  return found.map(({ key: [, , value, key] }) => ({ value, key }));
};

/** Removes the first entries of an index; returns how many there were, at most the limit. */
export const removeEntries = async (transaction: Transaction, indexId: string, limit: number): Promise<number> => {
  const found = await transaction.snapshot.list(searchEntries, { prefix: [indexId], limit });
  for (const { key } of found) transaction.delete(searchEntries, key);
  return found.length;
};

/** Whether an index has all entries of a version. */
export const hasEntries = async (
  reader: Reader,
  index: SearchIndex,
  key: string,
  version: Indexable,
): Promise<boolean> => {
  for (const [attribute, value] of entriesOf(index, version))
    if ((await reader.get(searchEntries, [index.indexId, attribute, value, key])) === undefined) return false;
  return true;
};

/** Whether an entry is one of a version; undefined: the key has no current one. */
export const isEntryOf = (
  index: SearchIndex,
  [, attribute, value]: readonly [string, string, string, string],
  version: Indexable | undefined,
): boolean => entriesOf(index, version).get(attribute) === value;
