import { clone } from "@bufbuild/protobuf";

import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { BucketLoggingStatus, LoggingEnabled } from "../../../gen/quartet/objectstorage/v1/logging_pb.ts";
import { LoggingEnabledSchema } from "../../../gen/quartet/objectstorage/v1/logging_pb.ts";
import type { AclMembers } from "./acl-request.ts";
import { fault } from "../faults.ts";

/** The permissions of grants on the objects of a log. */
const permissions = ["FULL_CONTROL", "READ", "WRITE"];

/** The dates by which keys of logs are partitioned. */
const dateSources = ["EventTime", "DeliveryTime"];

/**
 * The configuration of an access log as it is stored; undefined: the bucket is to have none. Throws MALFORMED_XML for a
 * missing document, a missing target, an unknown permission or date, and for two formats of keys.
 */
export const planLogging = (status: BucketLoggingStatus | undefined): LoggingEnabled | undefined => {
  if (status === undefined) throw fault(ErrorReason.MALFORMED_XML);
  if (status.loggingEnabled === undefined) return undefined;
  const logging = clone(LoggingEnabledSchema, status.loggingEnabled);
  if (logging.targetBucket === undefined || logging.targetBucket === "") throw fault(ErrorReason.MALFORMED_XML);
  logging.targetPrefix ??= "";
  for (const { grantee, permission = "" } of logging.targetGrants)
    if (grantee === undefined || !permissions.includes(permission)) throw fault(ErrorReason.MALFORMED_XML);
  const { simplePrefix, partitionedPrefix } = logging.targetObjectKeyFormat ?? {};
  if (logging.targetObjectKeyFormat !== undefined && (simplePrefix === undefined) === (partitionedPrefix === undefined))
    throw fault(ErrorReason.MALFORMED_XML);
  const dateSource = partitionedPrefix?.partitionDateSource;
  if (dateSource !== undefined && !dateSources.includes(dateSource)) throw fault(ErrorReason.MALFORMED_XML);
  return logging;
};

/** The grants on an object of a log, as the headers that put it would have. */
export const logGrants = ({ targetGrants }: LoggingEnabled): AclMembers => {
  const listed = (wanted: string): string | undefined => {
    const pairs = targetGrants
      .filter(({ permission }) => permission === wanted)
      .map(({ grantee: { id, uri, emailAddress } = {} }) =>
        id === undefined ? (uri === undefined ? `emailAddress="${emailAddress}"` : `uri="${uri}"`) : `id="${id}"`,
      );
    return pairs.length === 0 ? undefined : pairs.join(", ");
  };
  const [grantFullControl, grantRead, grantWrite] = permissions.map(listed);
  return {
    ...(grantFullControl !== undefined && { grantFullControl }),
    ...(grantRead !== undefined && { grantRead }),
    ...(grantWrite !== undefined && { grantWrite }),
  };
};

/** What the key of an object of a log is made of. */
export interface LogObject {
  readonly bucket: string;
  readonly accountId: string;
  readonly region: string;
  /** Of its first line, in milliseconds. */
  readonly eventMs: number;
  readonly deliveryMs: number;
  /** 16 digits that no other object of the log has. */
  readonly unique: string;
}

/** Whether the objects of a log are told apart by the day of their lines. */
export const isByEventDay = ({ targetObjectKeyFormat }: LoggingEnabled): boolean =>
  targetObjectKeyFormat?.partitionedPrefix?.partitionDateSource === "EventTime";

/** The key of an object of a log: by the time of its delivery, and by account, region, bucket and day if so wanted. */
export const logObjectKey = (logging: LoggingEnabled, object: LogObject): string => {
  const { targetPrefix = "", targetObjectKeyFormat } = logging;
  const byEvent = isByEventDay(logging);
  const time = new Date(byEvent ? object.eventMs : object.deliveryMs).toISOString();
  const day = time.slice(0, 10);
  const clock = byEvent ? "00-00-00" : time.slice(11, 19).replaceAll(":", "-");
  const name = `${day}-${clock}-${object.unique}`;
  if (targetObjectKeyFormat?.partitionedPrefix === undefined) return `${targetPrefix}${name}`;
  const { accountId, region, bucket } = object;
  return `${targetPrefix}${accountId}/${region}/${bucket}/${day.replaceAll("-", "/")}/${name}`;
};
