import type { Reader } from "../../kit/store/transaction.ts";
import { compareIds, idText, parseProfileId } from "../domain/identifier.ts";
import type { SearchClause, ValueHits } from "../domain/search.ts";
import { documentedKeyName, profileIdKeyName, searchedKeys } from "../domain/search-key.ts";
import { limits } from "../limits.ts";
import type { DomainData } from "./domain.ts";
import { digestOf, listFewProfilesWithKey, listHolders, profilesWithKey } from "./key-index.ts";
import { profiles } from "./layout.ts";

/** What of the profiles is listed. */
interface ListedPart {
  readonly after: Uint8Array | undefined;
  /** Profiles of one list. */
  readonly limit: number;
}

/** The profiles that one key finds; without `few`, many have it. */
interface KeyList {
  readonly clause: number;
  readonly value: string;
  readonly digest: Uint8Array;
  readonly few: readonly Uint8Array[] | undefined;
}

/**
 * For each value of each clause, the first profiles that have it by identifier, after the given one. If every clause is
 * needed and one finds few profiles, only these are looked for among those of a key that many have.
 */
export const listHits = async (
  reader: Reader,
  domain: DomainData,
  clauses: readonly SearchClause[],
  isEveryClauseNeeded: boolean,
  part: ListedPart,
): Promise<ValueHits[]> => {
  const lists: KeyList[] = [];
  for (const [clause, { keyName, values }] of clauses.entries())
    for (const value of values) lists.push(...(await fewOf(reader, domain, clause, keyName, value, part)));
  const candidates = isEveryClauseNeeded ? fewestOf(clauses, lists, part.limit) : undefined;
  const hits: ValueHits[] = [];
  for (const { clause, value, digest, few } of lists)
    if (few === undefined && candidates !== undefined) {
      const profileIds = await profilesWithKey(reader, domain.id, digest, candidates);
      hits.push({ clause, value, profileIds, isComplete: true });
    } else {
      const profileIds = few ?? (await listHolders(reader, domain.id, digest, part.after, part.limit));
      hits.push({ clause, value, profileIds, isComplete: profileIds.length < part.limit });
    }
  return hits;
};

const fewOf = async (
  reader: Reader,
  domain: DomainData,
  clause: number,
  keyName: string,
  value: string,
  { after, limit }: ListedPart,
): Promise<KeyList[]> => {
  if (documentedKeyName(keyName) === profileIdKeyName)
    return [{ clause, value, digest: noDigest, few: await identified(reader, domain, value, after) }];
  return Promise.all(
    searchedKeys(keyName, value).map(async (key) => {
      const digest = digestOf(domain.keys, key);
      return { clause, value, digest, few: await listFewProfilesWithKey(reader, domain.id, digest, after, limit) };
    }),
  );
};

/** A profile's identifier has no entry in the index. */
const noDigest = new Uint8Array();

/**
 * All profiles of the clause that finds the fewest, by identifier. Undefined if each clause may find many, or so many
 * that they are not looked for one by one, or if nothing is to be looked for.
 */
const fewestOf = (
  clauses: readonly SearchClause[],
  lists: readonly KeyList[],
  limit: number,
): readonly Uint8Array[] | undefined => {
  const longCount = lists.filter(({ few }) => few === undefined).length;
  if (longCount === 0) return undefined;
  const byClause = Map.groupBy(lists, ({ clause }) => clause);
  let fewest: ReadonlyMap<string, Uint8Array> | undefined;
  for (const clause of clauses.keys()) {
    const own = byClause.get(clause) ?? [];
    if (own.some(({ few }) => few === undefined || few.length >= limit)) continue;
    const ids = new Map(own.flatMap(({ few = [] }) => few).map((id) => [idText(id), id]));
    if (fewest === undefined || ids.size < fewest.size) fewest = ids;
  }
  if (fewest === undefined || fewest.size * longCount > limits.searchLookupsMax) return undefined;
  return [...fewest.values()].toSorted(compareIds);
};

/** The profile with an identifier. */
const identified = async (
  reader: Reader,
  domain: DomainData,
  value: string,
  afterProfileId: Uint8Array | undefined,
): Promise<readonly Uint8Array[]> => {
  const id = parseProfileId(value);
  if (id === undefined || (afterProfileId !== undefined && compareIds(id, afterProfileId) <= 0)) return [];
  return (await reader.get(profiles, [domain.id, id])) === undefined ? [] : [id];
};
