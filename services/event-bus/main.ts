import { ErrorReasonSchema } from "../../gen/quartet/eventbus/v1/error_reason_pb.ts";
import { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import type { EndpointSetting } from "../kit/config/config.ts";
import { runService } from "../kit/process/service-process.ts";
import { eventBusSettings, installation } from "../launcher/settings.ts";
import { findByArn } from "./access/resources.ts";
import { rules } from "./access/rules.ts";
import { openEventBus } from "./open.ts";
import { handlers } from "./service.ts";
import { layout } from "./store/layout.ts";

type Endpoints = Readonly<Record<string, EndpointSetting | undefined>>;

/** The configured endpoints, whose signatures name a region even if the setting leaves it out. */
const endpointsOf = (endpoints: Endpoints, regionOf: (name: string) => string) =>
  Object.fromEntries(
    Object.entries(endpoints).map(([name, endpoint]) => [
      name,
      endpoint && { ...endpoint, region: endpoint.region ?? regionOf(name) },
    ]),
  );

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
  explains: { rules, findResource: findByArn },
  open: ({ config, store, directory, clock, ids, log, keyNames, accounts, metrics }) =>
    openEventBus({
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
