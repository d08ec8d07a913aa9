import { idText } from "../../services/customer-profile/domain/identifier.ts";
import { holdersOf, splitDigests } from "../../services/customer-profile/store/key-index.ts";
import {
  counters,
  domainKeys,
  expiries,
  keyHolders,
  objectExpiries,
  objectPlaces,
  objects,
  profileSeeds,
  profiles,
  searchKeys,
} from "../../services/customer-profile/store/layout.ts";
import {
  matchCounts,
  matches,
  matchKeys,
  matchProfiles,
} from "../../services/customer-profile/store/layout-resolution.ts";
import { profilesOf } from "../../services/customer-profile/store/match.ts";
import type { Store } from "../../services/kit/store/store.ts";
import type { Reader } from "../../services/kit/store/transaction.ts";

const join = (...parts: (Uint8Array | number)[]): string =>
  parts.map((part) => (typeof part === "number" ? String(part) : idText(part))).join("/");

/**
 * The rules that hold between the tables of the database, whatever was done; returns a line for each broken rule. To be
 * called while no removal runs.
 */
export const brokenInvariants = (store: Store): Promise<string[]> => store.read(findBroken);

const findBroken = async (reader: Reader): Promise<string[]> => {
  const broken: string[] = [];
  const expectSame = (what: string, left: Iterable<string>, right: Iterable<string>) => {
    const [a, b] = [[...left].toSorted().join(" "), [...right].toSorted().join(" ")];
    if (a !== b) broken.push(`${what}: ${a} is not ${b}`);
  };

  const domainIds = new Set((await reader.list(domainKeys, { limit: 1_000 })).map(({ key }) => join(...key)));
  const owned = await reader.list(profiles, { limit: 100_000 });
  for (const { key } of owned) if (!domainIds.has(join(key[0]))) broken.push(`profile ${join(...key)} has no domain`);
  const sealed = await reader.list(profileSeeds, { limit: 100_000 });
  expectSame(
    "each profile has one data key",
    owned.map(({ key }) => join(...key)),
    sealed.map(({ key }) => join(...key)),
  );
  const due = await reader.list(expiries, { limit: 100_000 });
  expectSame(
    "each profile has one expiry",
    owned.map(({ key, value }) => join(Number(value.expireMs), ...key)),
    due.map(({ key }) => join(...key)),
  );

  const attached = await reader.list(objects, { limit: 100_000 });
  const references = new Map<string, number>();
  for (const { key, value } of [...owned, ...attached])
    for (const digest of splitDigests(value.keyDigests)) {
      const entry = join(key[0], digest, key[1]);
      references.set(entry, (references.get(entry) ?? 0) + 1);
    }
  const indexed: string[] = [];
  const spread = await reader.list(keyHolders, { limit: 1_000_000 });
  for (const { key, value } of spread) indexed.push(`${join(...key)}=${value.originCount}`);
  const keys = await reader.list(searchKeys, { limit: 1_000_000 });
  const holders = new Set(spread.map(({ key }) => join(...key)));
  for (const { key, value } of keys)
    for (const { profileId, originCount } of holdersOf(value)) {
      if (!value.isSpread) indexed.push(`${join(...key, profileId)}=${originCount}`);
      else if (!holders.has(join(...key, profileId))) broken.push(`key ${join(...key)} names ${idText(profileId)}`);
    }
  expectSame(
    "each index entry counts its origins",
    indexed,
    [...references].map(([entry, count]) => `${entry}=${count}`),
  );
  expectSame(
    "the keys whose profiles have records of their own say so",
    keys.filter(({ value }) => value.isSpread).map(({ key }) => join(...key)),
    new Set(spread.map(({ key: [domainId, digest] }) => join(domainId, digest))),
  );
  expectSame(
    "no key is without a profile",
    keys.filter(({ value }) => value.profileIds.length === 0).map(({ key }) => join(...key)),
    [],
  );

  const places = await reader.list(objectPlaces, { limit: 100_000 });
  expectSame(
    "each object has one place",
    attached.map(({ key: [domainId, profileId, typeId, objectKey] }) => join(domainId, typeId, objectKey, profileId)),
    places.map(({ key, value }) => join(...key, value.profileId)),
  );
  const objectsDue = await reader.list(objectExpiries, { limit: 100_000 });
  expectSame(
    "each object has one expiry",
    attached.map(({ key, value }) => join(Number(value.expireMs), key[0], key[2], key[3], key[1])),
    objectsDue.map(({ key, value }) => join(...key, value.profileId)),
  );
  expectSame(
    "each profile counts its objects",
    owned.map(({ key, value }) => `${join(...key)}=${value.objectCount},${value.objectBytes}`),
    owned.map(({ key }) => {
      const own = attached.filter((object) => join(object.key[0], object.key[1]) === join(...key));
      const bytes = own.reduce((sum, { value }) => sum + value.contentBytes, 0n);
      return `${join(...key)}=${own.length},${bytes}`;
    }),
  );

  const matched = await reader.list(matches, { limit: 100_000 });
  const compared = await reader.list(matchProfiles, { limit: 100_000 });
  expectSame(
    "each profile of a match names it",
    matched.flatMap(({ key, value }) => profilesOf(value).map((id) => join(...key, id))),
    compared
      .filter(({ value }) => value.matchId.length > 0)
      .map(({ key: [resolutionId, profileId], value }) => join(resolutionId, value.matchId, profileId)),
  );
  expectSame(
    "each value by which a profile is compared has an entry",
    compared.flatMap(({ key, value }) => splitDigests(value.keyDigests).map((digest) => join(...key, digest))),
    (await reader.list(matchKeys, { limit: 100_000 })).map(({ key: [resolutionId, digest, profileId] }) =>
      join(resolutionId, profileId, digest),
    ),
  );
  const stored = new Set(owned.map(({ key }) => join(key[1])));
  for (const { key } of compared)
    if (!stored.has(join(key[1]))) broken.push(`${join(...key)} is compared and does not exist`);
  const matchCount = (await reader.list(matchCounts, { limit: 1_000 })).reduce(
    (sum, { value }) => sum + value.matchCount,
    0n,
  );
  expectSame("matches are counted", [String(matchCount)], [String(matched.length)]);

  const counted = { profileCount: 0n, objectCount: 0n, totalBytes: 0n };
  for await (const { value } of reader.range(counters, {})) {
    counted.profileCount += value.profileCount;
    counted.objectCount += value.objectCount;
    counted.totalBytes += value.totalBytes;
  }
  const profileBytes = owned.reduce((sum, { value }) => sum + value.contentBytes, 0n);
  const objectBytes = attached.reduce((sum, { value }) => sum + value.contentBytes, 0n);
  expectSame(
    "the counters add up",
    [`${counted.profileCount},${counted.objectCount},${counted.totalBytes}`],
    [`${owned.length},${attached.length},${profileBytes + objectBytes}`],
  );
  return broken;
};
