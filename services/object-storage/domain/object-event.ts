import type { ObjectEventRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { arn } from "../../kit/arn/arn.ts";
import { instant } from "./instant.ts";
import type { Instant } from "./instant.ts";

/** The dialect of events. */
export type EmitDialect = "amz" | "svc";

/** One entry for the event bus. */
export interface BusEntry {
  readonly time: Instant;
  readonly source: string;
  readonly detailType: string;
  readonly resources: string[];
  readonly detail: string;
}

const sources: Readonly<Record<EmitDialect, string>> = { amz: "aws.s3", svc: "svc.object-storage" };
const services: Readonly<Record<EmitDialect, string>> = { amz: "s3", svc: "object-storage" };
/** The service in the ARNs that a dialect writes. */
export const serviceOf = (dialect: EmitDialect): string => services[dialect];

const partitions: Readonly<Record<EmitDialect, string>> = { amz: "aws", svc: "svc" };

/** The partition of the ARNs that a dialect writes. */
export const partitionOf = (dialect: EmitDialect): string => partitions[dialect];

/** The event in the public format. Keys are not encoded; size and ETag are set only where they are known. */
export const busEntryOf = (event: ObjectEventRecord, dialect: EmitDialect): BusEntry => ({
  time: instant(Number(event.occurredMs)),
  source: sources[dialect],
  detailType: event.detailType,
  resources: [
    arn({
      partition: partitions[dialect],
      service: services[dialect],
      region: "",
      account: "",
      resource: event.bucket,
    }),
  ],
  detail: JSON.stringify({
    version: "0",
    bucket: { name: event.bucket },
    object: {
      key: event.key,
      ...(event.sizeBytes === undefined ? {} : { size: Number(event.sizeBytes) }),
      ...(event.eTag === "" ? {} : { etag: event.eTag }),
      ...(event.versionId === "" ? {} : { "version-id": event.versionId }),
      sequencer: sequencerOf(event),
    },
    ...(event.requestId === "" ? {} : { "request-id": event.requestId }),
    requester: requesterOf(event, dialect),
    ...(event.sourceIpAddress === "" ? {} : { "source-ip-address": event.sourceIpAddress }),
    ...(event.reason === "" ? {} : { reason: event.reason }),
    ...(event.destinationStorageClass === "" ? {} : { "destination-storage-class": event.destinationStorageClass }),
    ...(event.sourceStorageClass === "" ? {} : { "source-storage-class": event.sourceStorageClass }),
    ...(event.restoreExpiresMs === 0n
      ? {}
      : { "restore-expiry-time": new Date(Number(event.restoreExpiresMs)).toISOString() }),
    ...(event.deletionType === "" ? {} : { "deletion-type": event.deletionType }),
  }),
});

/** The account, nobody, or the service itself. */
export const requesterOf = (event: ObjectEventRecord, dialect: EmitDialect): string => {
  if (event.isMadeByService) return dialect === "amz" ? "s3.amazonaws.com" : "object-storage";
  return event.requesterAccountId === "" ? "anonymous" : event.requesterAccountId;
};

/** The sequence of an event as consumers compare it: 16 hexadecimal digits. */
export const sequencerOf = ({ sequence }: ObjectEventRecord): string =>
  sequence.toString(16).toUpperCase().padStart(16, "0");
