import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { ObjectEventRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { notificationMessage, notifiedNameOf } from "../../../services/object-storage/domain/notification-message.ts";

const event = (more: MessageInitShape<typeof ObjectEventRecordSchema> = {}) =>
  create(ObjectEventRecordSchema, {
    detailType: "Object Created",
    occurredMs: 1_767_323_045_678n,
    bucket: "photos",
    key: "in/a cat (1)+é.jpg",
    sizeBytes: 4n,
    eTag: "abc",
    versionId: "v1",
    sequence: 0x1a2bn,
    reason: "PutObject",
    requestId: "R1",
    bucketAccountId: "111111111111",
    requesterAccountId: "222222222222",
    sourceIpAddress: "192.0.2.7",
    region: "us-east-1",
    ...more,
  });

test.each([
  // detail type, reason, kind of deletion, name
  ["Object Created", "PutObject", "", "ObjectCreated:Put"],
  ["Object Created", "POST Object", "", "ObjectCreated:Post"],
  ["Object Created", "CopyObject", "", "ObjectCreated:Copy"],
  ["Object Created", "CompleteMultipartUpload", "", "ObjectCreated:CompleteMultipartUpload"],
  ["Object Created", "Replication", "", "ObjectCreated:Put"],
  ["Object Deleted", "DeleteObject", "Permanently Deleted", "ObjectRemoved:Delete"],
  ["Object Deleted", "DeleteObjects", "Delete Marker Created", "ObjectRemoved:DeleteMarkerCreated"],
  ["Object Deleted", "Lifecycle Expiration", "Permanently Deleted", "LifecycleExpiration:Delete"],
  ["Object Deleted", "Lifecycle Expiration", "Delete Marker Created", "LifecycleExpiration:DeleteMarkerCreated"],
  ["Object Tags Added", "PutObjectTagging", "", "ObjectTagging:Put"],
  ["Object Tags Deleted", "DeleteObjectTagging", "", "ObjectTagging:Delete"],
  ["Object ACL Updated", "PutObjectAcl", "", "ObjectAcl:Put"],
  ["Object Storage Class Changed", "Lifecycle Transition", "", "LifecycleTransition"],
  ["Object Restore Initiated", "RestoreObject", "", "ObjectRestore:Post"],
  ["Object Restore Completed", "", "", "ObjectRestore:Completed"],
  ["Object Restore Expired", "", "", "ObjectRestore:Delete"],
])("%s by %j, %j, is %s", (detailType, reason, deletionType, name) => {
  expect(notifiedNameOf(event({ detailType, reason, deletionType }))).toBe(name);
});

const recordOf = (record: ReturnType<typeof event>, dialect: "amz" | "svc" = "amz") =>
  (JSON.parse(notificationMessage(record, "uploads", dialect)) as { readonly Records: readonly object[] }).Records;

describe("the message", () => {
  test("about a put has the public format", () => {
    expect(recordOf(event())).toEqual([
      {
        eventVersion: "2.1",
        eventSource: "aws:s3",
        awsRegion: "us-east-1",
        eventTime: "2026-01-02T03:04:05.678Z",
        eventName: "ObjectCreated:Put",
        userIdentity: { principalId: "222222222222" },
        requestParameters: { sourceIPAddress: "192.0.2.7" },
        responseElements: { "x-amz-request-id": "R1", "x-amz-id-2": "R1" },
        s3: {
          s3SchemaVersion: "1.0",
          configurationId: "uploads",
          bucket: {
            name: "photos",
            ownerIdentity: { principalId: "111111111111" },
            arn: "arn:aws:s3:::photos",
          },
          object: {
            key: "in/a+cat+%281%29%2B%C3%A9.jpg",
            size: 4,
            eTag: "abc",
            versionId: "v1",
            sequencer: "0000000000001A2B",
          },
        },
      },
    ]);
  });

  test("about a deletion by a rule has no size, no request, and the service as its principal", () => {
    const deleted = {
      detailType: "Object Deleted",
      deletionType: "Permanently Deleted",
      reason: "Lifecycle Expiration",
      sizeBytes: undefined,
      eTag: "",
      versionId: "",
      requestId: "",
      requesterAccountId: "",
      sourceIpAddress: "",
      isMadeByService: true,
    };
    expect(recordOf(event(deleted))).toMatchObject([
      {
        eventVersion: "2.3",
        eventName: "LifecycleExpiration:Delete",
        userIdentity: { principalId: "s3.amazonaws.com" },
        requestParameters: { sourceIPAddress: "s3.amazonaws.com" },
        responseElements: {},
        s3: { object: { key: expect.any(String), sequencer: "0000000000001A2B" } },
      },
    ]);
    expect(JSON.stringify(recordOf(event(deleted)))).not.toMatch(/"size"|"eTag"|"versionId"/);
  });

  test("about an archived object that can be read says until when", () => {
    const restored = {
      detailType: "Object Restore Completed",
      restoreExpiresMs: 1_767_409_445_000n,
      sourceStorageClass: "GLACIER",
    };
    expect(recordOf(event(restored))).toMatchObject([
      {
        eventName: "ObjectRestore:Completed",
        glacierEventData: {
          restoreEventData: {
            lifecycleRestorationExpiryTime: "2026-01-03T03:04:05.000Z",
            lifecycleRestoreStorageClass: "GLACIER",
          },
        },
      },
    ]);
  });

  test("of the documented dialect names its service", () => {
    expect(recordOf(event(), "svc")).toMatchObject([
      { eventSource: "svc:object-storage", s3: { bucket: { arn: "arn:svc:object-storage:::photos" } } },
    ]);
  });
});
