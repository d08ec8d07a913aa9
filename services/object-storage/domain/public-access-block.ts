import { create } from "@bufbuild/protobuf";

import type { PublicAccessBlockRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { PublicAccessBlockRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { PublicAccessBlockConfiguration } from "../../../gen/quartet/objectstorage/v1/public_access_block_pb.ts";

/** The four switches against public access. */
export type PublicAccessBlock = Pick<
  PublicAccessBlockRecord,
  "blockPublicAcls" | "ignorePublicAcls" | "blockPublicPolicy" | "restrictPublicBuckets"
>;

/** All switches off, as in a bucket for which none was put. */
const nothingBlocked: PublicAccessBlock = create(PublicAccessBlockRecordSchema);

/** All switches on. */
export const everythingBlocked: PublicAccessBlockRecord = create(PublicAccessBlockRecordSchema, {
  blockPublicAcls: true,
  ignorePublicAcls: true,
  blockPublicPolicy: true,
  restrictPublicBuckets: true,
});

/**
 * The switches that count in a bucket: its own and those of its account together, or all where the installation has no
 * public buckets.
 */
export const effectiveBlock = (
  own: PublicAccessBlock | undefined,
  ofAccount: PublicAccessBlock | undefined,
  allowsPublicBuckets: boolean,
): PublicAccessBlock => {
  if (!allowsPublicBuckets) return everythingBlocked;
  if (ofAccount === undefined) return own ?? nothingBlocked;
  return own === undefined ? ofAccount : joined(own, ofAccount);
};

const joined = (one: PublicAccessBlock, other: PublicAccessBlock): PublicAccessBlock => ({
  blockPublicAcls: one.blockPublicAcls || other.blockPublicAcls,
  ignorePublicAcls: one.ignorePublicAcls || other.ignorePublicAcls,
  blockPublicPolicy: one.blockPublicPolicy || other.blockPublicPolicy,
  restrictPublicBuckets: one.restrictPublicBuckets || other.restrictPublicBuckets,
});

/** The switches as they are answered. */
export const publicAccessBlockMessage = (stored: PublicAccessBlockRecord) => {
  const { blockPublicAcls, ignorePublicAcls, blockPublicPolicy, restrictPublicBuckets } = stored;
  return { blockPublicAcls, ignorePublicAcls, blockPublicPolicy, restrictPublicBuckets };
};

/** The switches of a request, as they are stored; one that is not given is off. */
export const planPublicAccessBlock = (
  configuration: PublicAccessBlockConfiguration | undefined,
): PublicAccessBlockRecord =>
  create(PublicAccessBlockRecordSchema, {
    blockPublicAcls: configuration?.blockPublicAcls ?? false,
    ignorePublicAcls: configuration?.ignorePublicAcls ?? false,
    blockPublicPolicy: configuration?.blockPublicPolicy ?? false,
    restrictPublicBuckets: configuration?.restrictPublicBuckets ?? false,
  });
