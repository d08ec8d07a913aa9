import type { Message } from "@bufbuild/protobuf";

import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { decideCall, isAllowed } from "../../kit/access/decide.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { CopySource } from "../domain/copy-source.ts";
import { parseCopySource } from "../domain/copy-source.ts";
import { effectiveBlock } from "../domain/public-access-block.ts";
import { fault } from "../faults.ts";
import type { Bucket } from "../store/bucket.ts";
import type { AuthorizedBucket, CopyAccess } from "./access.ts";
import type { NamedBucket } from "./named-buckets.ts";
import { accessDenied, findNamedBucket } from "./named-buckets.ts";
import type { AccessCall, BucketFacts } from "./resources.ts";
import { ResourceFinder } from "./resources.ts";
import { rules } from "./rules.ts";
import { findPolicy } from "./stored-policies.ts";

/** The buckets that a request names. */
export interface NamedBuckets {
  readonly own: NamedBucket;
  /** Of a copy: the source as the request writes it, and the account that must own its bucket. */
  readonly source?: { readonly text: string; readonly expectedOwner: string | undefined } | undefined;
}

/** What a call was decided on, and the outcome. */
interface Decided {
  readonly own: BucketFacts;
  readonly source: { readonly facts: BucketFacts; readonly object: CopySource } | undefined;
  readonly finder: ResourceFinder;
  readonly refusedElements: ReadonlySet<number>;
}

/**
 * Decides a call on buckets in a read, and returns the access to them. Fails, in this order, as `findNamedBucket` for
 * the bucket, as `parseCopySource` for a copy source, as `findNamedBucket` for its bucket, and with ACCESS_DENIED for a
 * permission that the request needs and the caller does not have. `isDecided` is set for calls that need none.
 */
export const openAccess = async (
  reader: Reader,
  call: AccessCall,
  request: Message,
  named: NamedBuckets,
  isDecided: boolean,
): Promise<CopyAccess> => {
  const factsOf = async (again: Reader, bucket: Bucket): Promise<BucketFacts> => ({
    bucket,
    policy: await findPolicy(again, bucket),
    block: effectiveBlock(bucket.publicAccessBlock, call.app.allowsPublicBuckets),
  });

  const decide = async (again: Reader): Promise<Decided> => {
    const own = await factsOf(again, await findNamedBucket(again, call.method.name, named.own));
    const object = named.source === undefined ? undefined : parseCopySource(named.source.text);
    const source =
      object === undefined
        ? undefined
        : { object, facts: await factsOf(again, await findNamedBucket(again, call.method.name, sourceBucket(object))) };
    const finder = new ResourceFinder(call, again, { own, source });
    const { refusedElements } = isDecided
      ? { refusedElements: new Set<number>() }
      : await decideCall(rules, call, request, (question) => finder.find(question));
    return { own, source, finder, refusedElements };
  };
  const sourceBucket = ({ bucket: name }: CopySource): NamedBucket => ({
    name,
    expectedOwner: named.source?.expectedOwner,
  });

  let decided = await decide(reader);
  const bucketAccess = (found: NamedBucket, factsNow: () => BucketFacts): AuthorizedBucket => ({
    name: found.name,
    get known() {
      return factsNow().bucket;
    },
    async in(again) {
      const bucket = await findNamedBucket(again, call.method.name, found);
      if (!decided.finder.dependsOnObjects && isDecidedAlike(bucket, factsNow().bucket)) return bucket;
      decided = await decide(again);
      return factsNow().bucket;
    },
    aclRules: (bucket) => ({
      bucket,
      block: effectiveBlock(bucket.publicAccessBlock, call.app.allowsPublicBuckets),
      canonicalUserId: call.app.canonicalUserId,
      accessDenied: () => accessDenied(call.method.name, bucket.name),
    }),
    asResource: (action) => decided.finder.bucketResource(factsNow(), action),
    noSuchKey: (key) =>
      isAllowed(rules, call, { action: listing, resource: decided.finder.bucketResource(factsNow(), listing) })
        ? fault(ErrorReason.NO_SUCH_KEY, { key })
        : accessDenied(listing, factsNow().bucket.name),
  });

  const bucket = bucketAccess(named.own, () => decided.own);
  const { source } = decided;
  const copied = source && {
    ...source.object,
    bucket: bucketAccess(sourceBucket(source.object), () => decided.source?.facts ?? source.facts),
  };
  return {
    bucket,
    get refusedElements() {
      return decided.refusedElements;
    },
    ...(copied && { source: copied }),
  } as CopyAccess;
};

/** The permission of those who may learn that a key does not exist. */
const listing = "ListBucket";

/** Whether nothing that decides on a bucket has changed. */
const isDecidedAlike = (now: Bucket, before: Bucket): boolean =>
  now.bucketId === before.bucketId && now.accessRevision === before.accessRevision;
