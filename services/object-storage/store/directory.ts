import type { CurrentVersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Reader, StoredRecord, Transaction } from "../../kit/store/store.ts";
import type { FoundEntry, ListingSeek } from "../domain/listing.ts";
import { directoryEntries } from "./directory-entries.ts";
import { currentVersions } from "./layout.ts";

/** The slashes of a key that end directories; what follows them is the name of the key, with slashes of its own. */
const levelsMax = 32;

/** A directory, and the name of an entry in it. */
interface Place {
  readonly directory: string;
  readonly name: string;
}

/** Adds a key that had no current version to its directory, and each directory that was empty to the one around it. */
export const enterDirectory = async (transaction: Transaction, bucketId: string, key: string): Promise<void> => {
  let place = placeOfKey(key);
  transaction.put(directoryEntries, [bucketId, place.directory, place.name], {});
  while (place.directory !== "") {
    const { directory, name } = placeOfDirectory(place.directory);
    // Where one directory is, all that are around it are.
    if ((await transaction.get(directoryEntries, [bucketId, directory, name])) !== undefined) return;
    transaction.put(directoryEntries, [bucketId, directory, name], { witness: place.name });
    place = { directory, name };
  }
};

/**
 * Removes a key that no longer has a current version from its directory, and each directory that is empty then. Only
 * where the witness of a directory goes is another one looked for: the last entry, so that deleting in the order of
 * keys seldom meets it again.
 */
export const leaveDirectory = async (transaction: Transaction, bucketId: string, key: string): Promise<void> => {
  let place = placeOfKey(key);
  for (;;) {
    transaction.delete(directoryEntries, [bucketId, place.directory, place.name]);
    if (place.directory === "") return;
    const around = placeOfDirectory(place.directory);
    const entryKey = [bucketId, around.directory, around.name] as const;
    if ((await transaction.get(directoryEntries, entryKey))?.witness !== place.name) return;
    const [last] = await transaction.list(directoryEntries, {
      prefix: [bucketId, place.directory],
      reverse: true,
      limit: 1,
    });
    if (last !== undefined) return transaction.put(directoryEntries, entryKey, { witness: last.key[2] });
    place = around;
  }
};

/** Whether a key has its place in a directory, also if the record of the place is damaged. */
export const isInDirectory = async (reader: Reader, bucketId: string, key: string): Promise<boolean> => {
  const { directory, name } = placeOfKey(key);
  const entry = await reader.get(directoryEntries, [bucketId, directory, name]).catch(() => "damaged" as const);
  return entry !== undefined;
};

/** Whether the entries of a prefix's directory are known, so that its listing by slashes can read them. */
export const hasDirectory = (prefix: string): boolean => {
  let slashes = 0;
  for (let at = prefix.indexOf("/"); at !== -1; at = prefix.indexOf("/", at + 1)) slashes += 1;
  return slashes < levelsMax;
};

/** Reads the entries of a listing by slashes: keys with their current version, and common prefixes. */
export const readDirectory = async (
  reader: Reader,
  bucketId: string,
  prefix: string,
  seek: ListingSeek<string>,
  limit: number,
): Promise<FoundEntry<StoredRecord<CurrentVersionRecord>, string>[]> => {
  const directory = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  const start = "past" in seek ? seek.past : seek.after;
  const isWithin = start.startsWith(directory);
  if (!isWithin && Buffer.compare(Buffer.from(start), Buffer.from(directory)) > 0) return [];
  const after = start.slice(directory.length);
  const found = await reader.list(directoryEntries, {
    prefix: [bucketId, directory, prefix.slice(directory.length)],
    textPrefix: true,
    ...(isWithin && start !== "" ? { after: [bucketId, directory, after] as const } : {}),
    limit,
  });
  const entries: FoundEntry<StoredRecord<CurrentVersionRecord>, string>[] = [];
  for (const { key, value } of found) {
    const name = directory + key[2];
    if (value.witness !== undefined) entries.push({ kind: "common-prefix", name });
    else {
      const row = await reader.getStored(currentVersions, [bucketId, name]);
      if (row === undefined) throw new Error("an entry of a directory has no current version");
      entries.push({ kind: "row", name, position: name, row });
    }
  }
  return entries;
};

const placeOfKey = (key: string): Place => {
  let end = 0;
  for (let level = 0; level < levelsMax; level += 1) {
    const slash = key.indexOf("/", end);
    if (slash === -1) break;
    end = slash + 1;
  }
  return { directory: key.slice(0, end), name: key.slice(end) };
};

/** The directory around a directory, and its name there. */
const placeOfDirectory = (directory: string): Place => {
  const end = directory.slice(0, -1).lastIndexOf("/") + 1;
  return { directory: directory.slice(0, end), name: directory.slice(end) };
};
