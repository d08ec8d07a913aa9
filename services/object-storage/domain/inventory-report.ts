import type { VersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ServerSideEncryption } from "../../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import type { InventoryConfiguration } from "../../../gen/quartet/objectstorage/v1/inventory_pb.ts";
import type { EncryptionMembers } from "./encryption.ts";
import { bucketOfArn, type inventoryFields } from "./identified-configuration.ts";

type Field = (typeof inventoryFields)[number];

/** One version as a report lists it. */
export interface ReportedVersion {
  readonly key: string;
  readonly version: VersionRecord;
  readonly isLatest: boolean;
  /** The canonical id of the object's owner. */
  readonly ownerId: string;
}

/** A file of a report. */
export interface ReportFile {
  readonly key: string;
  readonly sizeBytes: number;
  /** Hexadecimal. */
  readonly md5: string;
}

const columns: Readonly<Record<Field, (reported: ReportedVersion) => string>> = {
  Size: ({ version }) => (version.isDeleteMarker ? "" : String(version.sizeBytes)),
  LastModifiedDate: ({ version }) => new Date(Number(version.lastModifiedMs)).toISOString(),
  StorageClass: ({ version }) => version.storageClass,
  ETag: ({ version }) => version.eTag,
  IsMultipartUploaded: ({ version }) => (version.isDeleteMarker ? "" : String(version.parts.length > 0)),
  ChecksumAlgorithm: ({ version }) => version.checksum?.algorithm ?? "",
  ObjectLockRetainUntilDate: ({ version: { retention } }) =>
    retention === undefined ? "" : new Date(Number(retention.retainUntilMs)).toISOString(),
  ObjectLockMode: ({ version }) => version.retention?.mode ?? "",
  ObjectLockLegalHoldStatus: ({ version }) => version.legalHold,
  ObjectOwner: ({ ownerId }) => ownerId,
};

/** Whether a configuration lists all versions, and not only current ones. */
export const listsAllVersions = ({ includedObjectVersions }: InventoryConfiguration): boolean =>
  includedObjectVersions === "All";

/** The columns of a report, in their order. */
const reportSchema = (configuration: InventoryConfiguration): string =>
  [
    "Bucket",
    "Key",
    ...(listsAllVersions(configuration) ? ["VersionId", "IsLatest", "IsDeleteMarker"] : []),
    ...configuration.optionalFields,
  ].join(", ");

/** One line of a report: all values in quotes, keys as in URLs. */
export const reportLine = (
  configuration: InventoryConfiguration,
  bucket: string,
  reported: ReportedVersion,
): string => {
  const { key, version, isLatest } = reported;
  const ofVersion = [version.versionId, String(isLatest), String(version.isDeleteMarker)];
  const values = [
    bucket,
    encodeURIComponent(key).replaceAll("%2F", "/").replaceAll("%20", "+"),
    ...(listsAllVersions(configuration) ? ofVersion : []),
    ...configuration.optionalFields.map((field) => columns[field as Field](reported)),
  ];
  return `${values.map((value) => `"${value.replaceAll('"', '""')}"`).join(",")}\n`;
};

/** Where the objects of a report are, with a slash at the end. */
export const reportFolder = ({ id = "", destination }: InventoryConfiguration, bucket: string): string => {
  const prefix = destination?.s3BucketDestination?.prefix ?? "";
  return `${prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`}${bucket}/${id}/`;
};

/** The document that names the files of a report. */
export const reportManifest = (
  configuration: InventoryConfiguration,
  bucket: string,
  nowMs: number,
  files: readonly ReportFile[],
): string =>
  JSON.stringify({
    sourceBucket: bucket,
    destinationBucket: configuration.destination?.s3BucketDestination?.bucket,
    version: "2016-11-30",
    creationTimestamp: String(nowMs),
    fileFormat: "CSV",
    fileSchema: reportSchema(configuration),
    files: files.map(({ key, sizeBytes, md5 }) => ({ key, size: sizeBytes, MD5checksum: md5 })),
  });

/** The name of the bucket that a report is written to. */
export const reportBucket = ({ destination }: InventoryConfiguration): string =>
  bucketOfArn(destination?.s3BucketDestination?.bucket) ?? "";

/** How the files of a report are encrypted; empty: by the default of the bucket that they go to. */
export const reportEncryption = ({ destination }: InventoryConfiguration): EncryptionMembers => {
  const { sseS3, sseKms } = destination?.s3BucketDestination?.encryption ?? {};
  if (sseKms?.keyId !== undefined) return { serverSideEncryption: ServerSideEncryption.KMS, sseKmsKeyId: sseKms.keyId };
  return sseS3 === undefined ? {} : { serverSideEncryption: ServerSideEncryption.AES256 };
};

/**
 * Whether a report is due: none was made yet, or the latest in another day or week, which is a later one where the
 * clock was set back since.
 */
export const isReportDue = (
  { schedule, isEnabled }: InventoryConfiguration,
  latestMs: number | undefined,
  nowMs: number,
  dayMs: number,
): boolean => {
  const periodMs = schedule?.frequency === "Weekly" ? 7 * dayMs : dayMs;
  return (
    isEnabled === true && (latestMs === undefined || Math.floor(nowMs / periodMs) !== Math.floor(latestMs / periodMs))
  );
};
