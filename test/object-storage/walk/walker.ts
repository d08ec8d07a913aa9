import { CreateBucketCommand } from "@aws-sdk/client-s3";

import { attributes, get, head, getRange, getVersion, list, listVersions, readVersion } from "./reads.ts";
import { lock, share, tag, turnVersions } from "./settings.ts";
import { advanceUpload } from "./uploads.ts";
import type { Account, Compared, Walk } from "./walk.ts";
import { keys } from "./walk.ts";
import { append, batch, copy, deleteKey, deleteVersion, put } from "./writes.ts";

/** The families of operations, each of which makes one at random. */
export const families: Readonly<Record<string, (walk: Walk) => Promise<Compared>>> = {
  put,
  append,
  get,
  range: getRange,
  version: getVersion,
  head,
  deleteKey,
  deleteVersion,
  batch,
  copy,
  upload: advanceUpload,
  list,
  listVersions,
  lock,
  tag,
  attributes,
  versioning: turnVersions,
  sharing: share,
};

/** Creates the buckets. */
export const prepareWalk = async ({ buckets, clients }: Walk): Promise<void> => {
  for (const { name, owner, isLocked } of buckets)
    await clients[owner as Account].send(
      new CreateBucketCommand({ Bucket: name, ObjectLockEnabledForBucket: isLocked }),
    );
};

/** Makes the next operation. */
export const makeStep = async (walk: Walk): Promise<Compared & { readonly family: string }> => {
  const { random } = walk;
  const family = random.pick(Object.keys(families));
  walk.number += 1;
  walk.account = random.chance(0.7) ? "shop" : "bank";
  walk.bucket = random.pick(walk.buckets);
  walk.key = random.pick(keys);
  const did = `${family} of ${walk.account} in ${walk.bucket.name}/${walk.key}`;
  const compared = await families[family]!(walk);
  return { ...compared, did: `${did} ${compared.did}`, family };
};

/** Compares all that is stored: every listing, and the content of every version. */
export const compareAll = async (walk: Walk): Promise<Compared[]> => {
  const all: Compared[] = [];
  for (const bucket of walk.buckets) {
    walk.bucket = bucket;
    walk.account = bucket.owner as Account;
    all.push(await list(walk), await listVersions(walk));
    for (const key of bucket.keys())
      for (const { id } of bucket.versions(key).filter(({ content }) => content !== undefined)) {
        walk.key = key;
        all.push(await readVersion(walk, id));
      }
  }
  return all;
};
