import { createClient } from "@connectrpc/connect";

import { ErrorReasonSchema } from "../../gen/quartet/eventbus/v1/error_reason_pb.ts";
import { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { createTransport } from "../kit/client/transport.ts";
import type { SettingsOf } from "../kit/config/config.ts";
import { endpointsOf } from "../kit/outgoing/service-endpoints.ts";
import { runService } from "../kit/process/service-process.ts";
import type { ClientTls } from "../kit/tls/client-tls.ts";
import { eventBusSettings, installation } from "../launcher/settings.ts";
import { findByArn } from "./access/resources.ts";
import { rules } from "./access/rules.ts";
import { brokerOf } from "./domain/broker.ts";
import type { DeliveryStream } from "./domain/delivery-stream.ts";
import { objectWriter } from "./delivery/object-writer.ts";
import { openEventBus } from "./open.ts";
import { handlers } from "./service.ts";
import { layout } from "./store/layout.ts";

type StreamSettings = SettingsOf<typeof eventBusSettings>["deliveryStreams"];

const declaredStreams = (streams: StreamSettings): DeliveryStream[] =>
  Object.entries(streams).map(([name, { bucket, prefix = "", mebibytes = 5, seconds = 300 }]) => ({
    account: name.slice(0, 12),
    name: name.slice(13),
    bucket,
    prefix,
    bytesMax: mebibytes * 1024 * 1024,
    ageMsMax: seconds * 1_000,
  }));

const objectStorageClient = (address: string, tls: ClientTls) =>
  createClient(ObjectStorageService, createTransport({ address, engine: "connect", tls }));

await runService({
  name: "event-bus",
  installation,
  settings: eventBusSettings,
  service: EventBusService,
  handlers,
  errors: ErrorReasonSchema,
  issuers: {
    gateway: { anyCaller: true },
    // Bucket notifications: the bucket's owner configured them, so no policy of the principal is asked.
    "object-storage": { preauthorizedFor: ["PutEvents"] },
  },
  stored: { layout },
  // Deliveries that wait are read in their order, so few tables are open at a time; they are at most 128 MiB of memory
  // (services/decisions/0120).
  storeLimits: { tableBytes: 2 * 1024 * 1024, openTablesMax: 64 },
  explains: { rules, findResource: findByArn },
  open: ({ config, store, directory, clock, ids, log, minter, tls, keyNames, accounts, metrics }) =>
    openEventBus({
      ...(Object.keys(config.deliveryStreams).length > 0 && {
        deliveryStreams: {
          declared: declaredStreams(config.deliveryStreams),
          put: objectWriter(objectStorageClient(config.objectStorageAddress, tls), minter),
        },
      }),
      store,
      directory,
      clock,
      ids,
      log,
      keyNames,
      accounts,
      metrics,
      region: config.region,
      dialect: config.emit,
      regions: endpointsOf(config.regions, (region) => region),
      healthChecks: new Map(Object.entries(config.healthChecks)),
      partners: new Map(Object.entries(config.partners)),
      brokers: Object.entries(config.brokers).map(([name, setting]) => brokerOf(name, setting)),
      ...(config.busLogs.length > 0 && { busLogs: config.busLogs }),
      endpoints: endpointsOf(config.connectors, () => config.region),
      allowsPrivateTargets: config.privateTargets === "allow",
      allowsUnknownRoles: config.unknownRoles === "allow",
      limits: {
        busesMax: config.busesMax,
        rulesPerBusMax: config.rulesPerBusMax,
        targetsPerRuleMax: config.targetsPerRuleMax,
        connectionsMax: config.connectionsMax,
        apiDestinationsMax: config.apiDestinationsMax,
        activeReplaysMax: config.activeReplaysMax,
        runningDeliveriesMax: config.runningDeliveriesMax,
        deadLetterMs: config.deadLetterDays * 86_400_000,
      },
    }),
});
