import type { Reader } from "../../kit/store/transaction.ts";
import { compareIds, parseProfileId } from "../domain/identifier.ts";
import type { SearchClause, ValueHits } from "../domain/search.ts";
import { documentedKeyName, profileIdKeyName, searchedKeys } from "../domain/search-key.ts";
import type { DomainData } from "./domain.ts";
import { digestOf, listProfilesWithKey } from "./key-index.ts";
import { profiles } from "./layout.ts";

/** For each value of each clause, the first profiles that have it by identifier, after the given one. */
export const listHits = async (
  reader: Reader,
  domain: DomainData,
  clauses: readonly SearchClause[],
  afterProfileId: Uint8Array | undefined,
  limit: number,
): Promise<ValueHits[]> => {
  const lists: ValueHits[] = [];
  for (const [clause, { keyName, values }] of clauses.entries())
    for (const value of values)
      for (const profileIds of await listsOf(reader, domain, keyName, value, afterProfileId, limit))
        lists.push({ clause, value, profileIds, isComplete: profileIds.length < limit });
  return lists;
};

const listsOf = async (
  reader: Reader,
  domain: DomainData,
  keyName: string,
  value: string,
  afterProfileId: Uint8Array | undefined,
  limit: number,
): Promise<(readonly Uint8Array[])[]> => {
  if (documentedKeyName(keyName) === profileIdKeyName) return [await identified(reader, domain, value, afterProfileId)];
  return Promise.all(
    searchedKeys(keyName, value).map((key) =>
      listProfilesWithKey(reader, domain.id, digestOf(domain.keys, key), afterProfileId, limit),
    ),
  );
};

/** The profile with an identifier, which is a key without index entries. */
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
