import { create, toBinary } from "@bufbuild/protobuf";

import { ObjectEventRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Jobs } from "../../kit/jobs/jobs.ts";
import { anonymousCaller } from "../../kit/identity/caller.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Bucket } from "../store/bucket.ts";
import { findDocument } from "../store/configuration.ts";
import type { Notifications } from "./notifications.ts";

/** The kind of the jobs that send events to the event bus. */
export const objectEventJob = "object-event";

/** The call that makes a change, as far as the event names it. */
export interface ChangeOrigin {
  readonly caller: CallContext<unknown>["caller"];
  /** The operation, or what the service did by itself. */
  readonly method: { readonly name: string };
  /** Empty: no request made the change. */
  readonly requestId: string;
}

/** The service itself as the origin of a change, for what it does by a rule or when a time has come. */
export const serviceOrigin = (reason: string): ChangeOrigin => ({
  caller: anonymousCaller,
  method: { name: reason },
  requestId: "",
});

/** A change of an object. */
export type ObjectChange = ObjectCreated | ObjectDeleted | ObjectTagged | ObjectMoved | ObjectRestored;

interface ChangeBase {
  readonly key: string;
  /** As answers show it. Undefined: the bucket never kept versions. */
  readonly versionId: string | undefined;
  readonly sequence: number;
  readonly timeMs: number;
}

interface ObjectCreated extends ChangeBase {
  readonly kind: "created";
  readonly sizeBytes: number;
  readonly eTag: string;
}

interface ObjectDeleted extends ChangeBase {
  readonly kind: "deleted" | "marker-created";
}

interface ObjectTagged extends ChangeBase {
  readonly kind: "tagged" | "untagged" | "acl-changed";
  readonly eTag: string;
}

interface ObjectMoved extends ChangeBase {
  readonly kind: "moved";
  readonly sizeBytes: number;
  readonly eTag: string;
  readonly storageClass: string;
}

interface ObjectRestored extends ChangeBase {
  readonly kind: "restore-initiated" | "restore-completed" | "restore-expired";
  readonly sizeBytes: number;
  readonly eTag: string;
  /** The archive class. */
  readonly storageClass: string;
  /** When the copy ends; undefined: not known yet, or over. */
  readonly expiresMs: number | undefined;
}

/** Sends changes to the event bus, queues, topics and functions, for buckets that are configured so. */
export interface EventOutbox {
  /** Adds the delivery to the transaction of the change: both are committed or neither. */
  announce(transaction: Transaction, origin: ChangeOrigin, bucket: Bucket, change: ObjectChange): Promise<void>;
}

/** An outbox whose deliveries are jobs. */
export const createEventOutbox = (
  jobs: Pick<Jobs, "enqueue">,
  notifications: Pick<Notifications, "announce">,
): EventOutbox => ({
  async announce(transaction, { caller, method, requestId }, bucket, change) {
    const configuration = await findDocument(transaction, bucket.bucketId, "notification");
    if (configuration === undefined) return;
    const record = create(ObjectEventRecordSchema, {
      ...describe(change),
      versionId: change.versionId ?? "",
      occurredMs: BigInt(change.timeMs),
      bucket: bucket.name,
      key: change.key,
      sequence: BigInt(change.sequence),
      reason: caller.isForm === true ? "POST Object" : method.name,
      requestId,
      bucketAccountId: bucket.accountId,
      requesterAccountId: caller.accountId,
      requesterArn: caller.principalArn,
      isRequesterRoot: caller.isRoot,
      sourceIpAddress: caller.sourceIp ?? "",
      region: bucket.region,
      isMadeByService: requestId === "",
    });
    await notifications.announce(transaction, configuration, record);
    if (configuration.eventBridgeConfiguration === undefined) return;
    jobs.enqueue(transaction, {
      kind: objectEventJob,
      owner: bucket.accountId,
      payload: toBinary(ObjectEventRecordSchema, record),
    });
  },
});

const restoreTypes = {
  "restore-initiated": "Object Restore Initiated",
  "restore-completed": "Object Restore Completed",
  "restore-expired": "Object Restore Expired",
} as const;

const describe = (change: ObjectChange) => {
  switch (change.kind) {
    case "created":
      return { detailType: "Object Created", sizeBytes: BigInt(change.sizeBytes), eTag: change.eTag };
    case "deleted":
      return { detailType: "Object Deleted", deletionType: "Permanently Deleted" };
    case "marker-created":
      return { detailType: "Object Deleted", deletionType: "Delete Marker Created" };
    case "tagged":
      return { detailType: "Object Tags Added", eTag: change.eTag };
    case "untagged":
      return { detailType: "Object Tags Deleted", eTag: change.eTag };
    case "moved":
      return {
        detailType: "Object Storage Class Changed",
        sizeBytes: BigInt(change.sizeBytes),
        eTag: change.eTag,
        destinationStorageClass: change.storageClass,
      };
    case "restore-initiated":
    case "restore-completed":
    case "restore-expired":
      return {
        detailType: restoreTypes[change.kind],
        sizeBytes: BigInt(change.sizeBytes),
        eTag: change.eTag,
        sourceStorageClass: change.storageClass,
        restoreExpiresMs: BigInt(change.expiresMs ?? 0),
      };
    case "acl-changed":
      return { detailType: "Object ACL Updated", eTag: change.eTag };
  }
};
