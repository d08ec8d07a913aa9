import { ErrorReasonSchema } from "../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { runService } from "../kit/process/service-process.ts";
import { endpointsOf } from "../kit/outgoing/service-endpoints.ts";
import { reportMethod } from "../kit/report/report-service.ts";
import { installation, objectStorageSettings } from "../launcher/settings.ts";
import { declaredAccessPoints } from "./access/access-points.ts";
import { findByArn } from "./access/find-by-arn.ts";
import { rules } from "./access/rules.ts";
import { openObjectStorage } from "./open.ts";
import { handlers, putsOwnObjects } from "./service.ts";
import { storedData } from "./work/stored-data.ts";

await runService({
  name: "object-storage",
  installation,
  settings: objectStorageSettings,
  service: ObjectStorageService,
  handlers,
  errors: ErrorReasonSchema,
  issuers: {
    gateway: { anyCaller: true, preauthorizedFor: ["GetBucketCors", "GetBucketWebsite", reportMethod] },
    // Delivery streams: the installation declares their buckets, so no policy of the account's users is asked.
    "event-bus": { preauthorizedFor: ["PutObject"] },
    // Flows of integrations: they read what the policies of a bucket, and of a role, allow them.
    "customer-profile": { sessionsFor: ["ListObjectsV2", "GetObject"], services: ["appflow.amazonaws.com"] },
  },
  stored: storedData,
  explains: { rules, findResource: findByArn },
  open: ({ config, keyNames, ...foundation }) =>
    openObjectStorage({
      ...foundation,
      putsOwnObjects,
      lifecycleDayMs: config.lifecycleSecondsPerDay * 1000,
      restoreDelayMs: config.restoreSeconds * 1000,
      accessLogMs: config.accessLogSeconds * 1000,
      regions: endpointsOf(config.regions, (region) => region),
      functionsUrl: config.functionsUrl,
      objectFunctionMs: config.objectFunctionSeconds * 1000,
      elapsedMs: () => performance.now(),
      region: config.region,
      emit: config.emit,
      eventBusAddress: config.eventBusAddress,
      notified: endpointsOf(config.connectors, () => config.region),
      keyNames,
      emailGrants: config.emailGrants,
      publicBuckets: config.publicBuckets,
      accessPoints: declaredAccessPoints(config.accessPoints, config),
      objectOwnership: config.objectOwnership,
      scans: { threads: config.selectThreads, timeLimitMs: config.selectSeconds * 1000 },
      scrub: {
        intervalMs: config.scrubDays * 24 * 3_600_000,
        bytesPerSecond: config.scrubMebibytesPerSecond * 1024 * 1024,
      },
    }),
});
