import type { ObjectEventRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { arn } from "../../kit/arn/arn.ts";
import type { EmitDialect } from "./object-event.ts";
import { partitionOf, requesterOf, sequencerOf, serviceOf } from "./object-event.ts";

const createdNames: ReadonlyMap<string, string> = new Map([
  ["POST Object", "ObjectCreated:Post"],
  ["CopyObject", "ObjectCreated:Copy"],
  ["CompleteMultipartUpload", "ObjectCreated:CompleteMultipartUpload"],
]);

const names: ReadonlyMap<string, string> = new Map([
  ["Object Tags Added", "ObjectTagging:Put"],
  ["Object Tags Deleted", "ObjectTagging:Delete"],
  ["Object ACL Updated", "ObjectAcl:Put"],
  ["Object Storage Class Changed", "LifecycleTransition"],
  ["Object Restore Initiated", "ObjectRestore:Post"],
  ["Object Restore Completed", "ObjectRestore:Completed"],
  ["Object Restore Expired", "ObjectRestore:Delete"],
]);

/** Kinds of events that came to the format later have its later version. */
const laterFamilies = /^(?:LifecycleExpiration|LifecycleTransition|ObjectTagging|ObjectAcl|ObjectRestore:Delete)/;

/** The event's name in notifications, without the service: `ObjectCreated:Put`. */
export const notifiedNameOf = ({ detailType, deletionType, reason }: ObjectEventRecord): string => {
  if (detailType === "Object Created") return createdNames.get(reason) ?? "ObjectCreated:Put";
  if (detailType !== "Object Deleted") return names.get(detailType) ?? "";
  const family = reason === "Lifecycle Expiration" ? "LifecycleExpiration" : "ObjectRemoved";
  return `${family}:${deletionType === "Delete Marker Created" ? "DeleteMarkerCreated" : "Delete"}`;
};

/** The message about an event, in the public format. The key is encoded as in a form. */
export const notificationMessage = (
  event: ObjectEventRecord,
  configurationId: string,
  dialect: EmitDialect,
): string => {
  const eventName = notifiedNameOf(event);
  const partition = partitionOf(dialect);
  const record = {
    eventVersion: laterFamilies.test(eventName) ? "2.3" : "2.1",
    eventSource: `${partition}:${serviceOf(dialect)}`,
    awsRegion: event.region,
    eventTime: new Date(Number(event.occurredMs)).toISOString(),
    eventName,
    userIdentity: { principalId: requesterOf(event, dialect) },
    requestParameters: { sourceIPAddress: event.sourceIpAddress || requesterOf(event, dialect) },
    responseElements:
      event.requestId === "" ? {} : { "x-amz-request-id": event.requestId, "x-amz-id-2": event.requestId },
    s3: {
      s3SchemaVersion: "1.0",
      configurationId,
      bucket: {
        name: event.bucket,
        ownerIdentity: { principalId: event.bucketAccountId },
        arn: arn({ partition, service: serviceOf(dialect), region: "", account: "", resource: event.bucket }),
      },
      object: {
        key: formEncoded(event.key),
        ...(event.sizeBytes === undefined ? {} : { size: Number(event.sizeBytes) }),
        ...(event.eTag === "" ? {} : { eTag: event.eTag }),
        ...(event.versionId === "" ? {} : { versionId: event.versionId }),
        sequencer: sequencerOf(event),
      },
    },
    ...(eventName === "ObjectRestore:Completed" && {
      glacierEventData: {
        restoreEventData: {
          lifecycleRestorationExpiryTime: new Date(Number(event.restoreExpiresMs)).toISOString(),
          lifecycleRestoreStorageClass: event.sourceStorageClass,
        },
      },
    }),
  };
  return JSON.stringify({ Records: [record] });
};

/** The message that a queue or a topic gets when a bucket is to notify it. */
export const testMessage = (
  { bucket, requestId, timeMs }: { readonly bucket: string; readonly requestId: string; readonly timeMs: number },
  dialect: EmitDialect,
): string =>
  JSON.stringify({
    Service: dialect === "amz" ? "Amazon S3" : "Object storage",
    Event: `${serviceOf(dialect) === "s3" ? "s3" : "svc"}:TestEvent`,
    Time: new Date(timeMs).toISOString(),
    Bucket: bucket,
    RequestId: requestId,
    HostId: requestId,
  });

/** A key as the public service writes it here: slashes stay, a space is a plus. */
const formEncoded = (key: string): string =>
  encodeURIComponent(key)
    .replaceAll("%2F", "/")
    .replaceAll("%20", "+")
    .replace(/[!'()]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
