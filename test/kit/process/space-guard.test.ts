import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { ErrorReasonSchema } from "../../../gen/quartet/test/v1/error_reason_pb.ts";
import { FaultRole } from "../../../gen/quartet/traits/v1/fault_pb.ts";
import * as eventBus from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import * as objectStorage from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { TestService, UploadRequestSchema } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { faultTable, roleFault, ServiceError } from "../../../services/kit/faults/service-error.ts";
import type { SpaceGuard } from "../../../services/kit/process/space-guard.ts";
import { guardSpace } from "../../../services/kit/process/space-guard.ts";
import type { CallContext, Pending } from "../../../services/kit/server/handlers.ts";
import { createTestApp, testHandlers } from "../server/test-service.ts";

const guard = (isLow: () => boolean) => ({
  isLow,
  refusal: () => roleFault(faultTable(ErrorReasonSchema), FaultRole.STORAGE_FULL),
});
/** The test service's upload, guarded. */
const guardedUpload = (space: SpaceGuard) =>
  guardSpace(TestService, testHandlers, space).upload as Exclude<(typeof testHandlers)["upload"], Pending>;
const context = { app: createTestApp(), responseHeader: new Headers() } as unknown as CallContext<
  ReturnType<typeof createTestApp>
>;

test.each([
  // service                             operation                 outcome
  [objectStorage.ObjectStorageService, "putObject", "refused"],
  [objectStorage.ObjectStorageService, "uploadPart", "refused"],
  [objectStorage.ObjectStorageService, "completeMultipartUpload", "refused"],
  [objectStorage.ObjectStorageService, "getObject", "served"],
  [objectStorage.ObjectStorageService, "headBucket", "served"],
  [objectStorage.ObjectStorageService, "listObjectsV2", "served"],
  [objectStorage.ObjectStorageService, "deleteObject", "served"],
  [objectStorage.ObjectStorageService, "deleteObjects", "served"],
  [objectStorage.ObjectStorageService, "abortMultipartUpload", "served"],
  [eventBus.EventBusService, "putEvents", "refused"],
  [eventBus.EventBusService, "startReplay", "refused"],
  [eventBus.EventBusService, "describeRule", "served"],
  [eventBus.EventBusService, "removeTargets", "served"],
  [eventBus.EventBusService, "disableRule", "served"],
  [eventBus.EventBusService, "enableRule", "refused"],
  [eventBus.EventBusService, "cancelReplay", "served"],
  [eventBus.EventBusService, "untagResource", "served"],
  [eventBus.EventBusService, "tagResource", "refused"],
] as const)("on a disk that is low, %s %s is %s", (service, operation, outcome) => {
  const handlers = Object.fromEntries(service.methods.map(({ localName }) => [localName, () => "served"]));
  const guarded = guardSpace(
    service,
    handlers as never,
    guard(() => true),
  ) as Record<string, (...call: unknown[]) => unknown>;
  const call = (): unknown => {
    try {
      return guarded[operation]?.({}, {});
    } catch (error) {
      return error instanceof ServiceError ? "refused" : error;
    }
  };
  expect(call()).toBe(outcome);
});

test("calls are served while the disk has room, and those that are known and not offered stay so", async () => {
  const space = guard(() => false);
  const requests = async function* () {
    yield create(UploadRequestSchema, { name: "a", body: new Uint8Array(3) });
  };
  expect(await guardedUpload(space)(requests(), context)).toMatchObject({ name: "a", sizeBytes: 3n });
  expect(guardSpace(TestService, testHandlers, space).postpone).toEqual({ pending: true });
});

test("an upload is refused in its course when the disk becomes low, and its stream is closed", async () => {
  let isLow = false;
  let isClosed = false;
  const requests = async function* () {
    try {
      for (let sent = 0; ; sent += 1) {
        isLow = sent === 3;
        yield create(UploadRequestSchema, { name: "a", body: new Uint8Array(1000) });
      }
    } finally {
      isClosed = true;
    }
  };
  const uploading = guardedUpload(guard(() => isLow))(requests(), context);
  await expect(uploading).rejects.toThrow("There is not enough room to store this.");
  expect(isClosed).toBe(true);
});
