import type { AnalyticsConfiguration } from "../../../gen/quartet/objectstorage/v1/analytics_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { IntelligentTieringConfiguration } from "../../../gen/quartet/objectstorage/v1/intelligent_tiering_pb.ts";
import type {
  InventoryConfiguration,
  InventoryEncryption,
} from "../../../gen/quartet/objectstorage/v1/inventory_pb.ts";
import type { MetricsConfiguration } from "../../../gen/quartet/objectstorage/v1/metrics_pb.ts";
import { fault, invalidArgument, invalidRequest, memberNotOffered } from "../faults.ts";
import { limits } from "../limits.ts";
import { checkTags } from "./tags.ts";

interface FilterTag {
  readonly key?: string;
  readonly value?: string;
}

/** The conditions of a filter: one, or several joined by And. */
interface Filter {
  readonly prefix?: string;
  readonly tag?: FilterTag;
  readonly accessPointArn?: string;
  readonly and?: { readonly prefix?: string; readonly tags: readonly FilterTag[]; readonly accessPointArn?: string };
}

const idPattern = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Checks the id of a configuration that is put. Throws, in this order: MALFORMED_XML without one, ID_MISMATCH if it is
 * not the one of the request, INVALID_ARGUMENT.
 */
export const checkConfigurationId = (requested: string, id: string | undefined): void => {
  if (id === undefined || id === "") throw fault(ErrorReason.MALFORMED_XML);
  if (id !== requested) throw fault(ErrorReason.ID_MISMATCH);
  if (!idPattern.test(id))
    throw invalidArgument("Id", id, "The Id must have 1 to 64 letters, digits, periods, underscores or hyphens");
};

/** Throws MALFORMED_XML without an analysis, MEMBER_NOT_IMPLEMENTED for its export, and as `checkFilter` does. */
export const checkAnalytics = ({ filter, storageClassAnalysis }: AnalyticsConfiguration): void => {
  if (storageClassAnalysis === undefined) throw fault(ErrorReason.MALFORMED_XML);
  checkFilter(filter);
  if (storageClassAnalysis.dataExport !== undefined) throw memberNotOffered("DataExport");
};

/** Throws as `checkFilter` does, and MEMBER_NOT_IMPLEMENTED for a filter by access points. */
export const checkMetrics = ({ filter }: MetricsConfiguration): void => {
  checkFilter(filter);
  if (filter?.accessPointArn !== undefined || filter?.and?.accessPointArn !== undefined)
    throw memberNotOffered("AccessPointArn");
};

/** The tiers, and after how many days at least an object without use moves to them. */
const tierDaysMin: Readonly<Record<string, number>> = { ARCHIVE_ACCESS: 90, DEEP_ARCHIVE_ACCESS: 180 };
const tierDaysMax = 730;

/** Throws MALFORMED_XML for an unknown status or tier and without tiers, as `checkFilter` does, INVALID_ARGUMENT. */
export const checkTiering = ({ filter, status, tierings }: IntelligentTieringConfiguration): void => {
  const isKnown = tierings.every(({ accessTier, days }) => accessTier !== undefined && days !== undefined);
  if ((status !== "Enabled" && status !== "Disabled") || tierings.length === 0 || !isKnown)
    throw fault(ErrorReason.MALFORMED_XML);
  checkFilter(filter);
  for (const { accessTier = "", days = 0 } of tierings) {
    const least = tierDaysMin[accessTier];
    if (least === undefined) throw fault(ErrorReason.MALFORMED_XML);
    if (days < least || days > tierDaysMax)
      throw invalidArgument("Days", String(days), `Days of ${accessTier} must be between ${least} and ${tierDaysMax}`);
  }
};

const frequencies = new Set(["Daily", "Weekly"]);
const versionsListed = new Set(["All", "Current"]);
const formats = new Set(["CSV", "ORC", "Parquet"]);

/** The further columns of an inventory. */
export const inventoryFields = [
  "Size",
  "LastModifiedDate",
  "StorageClass",
  "ETag",
  "IsMultipartUploaded",
  "ChecksumAlgorithm",
  "ObjectLockRetainUntilDate",
  "ObjectLockMode",
  "ObjectLockLegalHoldStatus",
  "ObjectOwner",
] as const;

/**
 * Throws, in this order: MALFORMED_XML for a missing or unknown member, INVALID_S3_DESTINATION_BUCKET for a destination
 * that is no bucket's ARN, MEMBER_NOT_IMPLEMENTED for what is not offered: other formats than CSV, and columns about
 * what is not kept.
 */
export const checkInventory = (configuration: InventoryConfiguration): void => {
  const { destination, isEnabled, includedObjectVersions = "", optionalFields, schedule } = configuration;
  const bucket = destination?.s3BucketDestination;
  if (
    bucket === undefined ||
    isEnabled === undefined ||
    !versionsListed.has(includedObjectVersions) ||
    !frequencies.has(schedule?.frequency ?? "") ||
    !formats.has(bucket.format ?? "") ||
    (bucket.encryption !== undefined && !isOneEncryption(bucket.encryption))
  )
    throw fault(ErrorReason.MALFORMED_XML);
  if (bucketOfArn(bucket.bucket) === undefined) throw fault(ErrorReason.INVALID_S3_DESTINATION_BUCKET);
  if (bucket.format !== "CSV") throw memberNotOffered("Format");
  const unknown = optionalFields.find((field) => !inventoryFields.includes(field as never));
  if (unknown !== undefined) throw memberNotOffered(unknown);
};

/** Whether an encryption is either the service's or under a managed key that it names. */
const isOneEncryption = ({ sseS3, sseKms }: InventoryEncryption): boolean =>
  sseKms === undefined ? sseS3 !== undefined : sseS3 === undefined && (sseKms.keyId ?? "") !== "";

/** The name of the bucket with this ARN; undefined if it is no bucket's. */
export const bucketOfArn = (arn: string | undefined): string | undefined =>
  /^arn:[a-z0-9-]+:(?:s3|object-storage):::([a-z0-9.-]{3,63})$/.exec(arn ?? "")?.[1];

/** Throws MALFORMED_XML without exactly one condition, INVALID_REQUEST for two tags of one key, INVALID_TAG. */
const checkFilter = (filter: Filter | undefined): void => {
  if (filter === undefined) return;
  const { prefix, tag, accessPointArn, and } = filter;
  const given = [prefix, tag, accessPointArn, and].filter((condition) => condition !== undefined);
  if (given.length !== 1) throw fault(ErrorReason.MALFORMED_XML);
  const tags = (and?.tags ?? (tag === undefined ? [] : [tag])).map(({ key = "", value = "" }) => ({ key, value }));
  if (and !== undefined) {
    const joined = [and.prefix, and.accessPointArn].filter((condition) => condition !== undefined);
    if (joined.length + tags.length < 2) throw fault(ErrorReason.MALFORMED_XML);
  }
  if (new Set(tags.map(({ key }) => key)).size < tags.length)
    throw invalidRequest("Duplicate Tag Keys are not allowed.");
  checkTags(tags, limits.tagsPerObjectMax);
};
