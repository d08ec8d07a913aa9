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
const everythingBlocked: PublicAccessBlock = create(PublicAccessBlockRecordSchema, {
  blockPublicAcls: true,
  ignorePublicAcls: true,
  blockPublicPolicy: true,
  restrictPublicBuckets: true,
});

/** The switches that count in a bucket: its own, or all where the installation has no public buckets. */
export const effectiveBlock = (
  own: PublicAccessBlockRecord | undefined,
  allowsPublicBuckets: boolean,
): PublicAccessBlock => (allowsPublicBuckets ? (own ?? nothingBlocked) : everythingBlocked);

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
