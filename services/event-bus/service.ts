import { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import type { Handlers } from "../kit/server/handlers.ts";
import { pending } from "../kit/server/handlers.ts";
import type { Application } from "./application.ts";
import { authorized } from "./authorization.ts";
import {
  createApiDestination,
  deleteApiDestination,
  describeApiDestination,
  listApiDestinations,
  updateApiDestination,
} from "./operations/api-destination.ts";
import { createConnection, deleteConnection, describeConnection, listConnections } from "./operations/connection.ts";
import { createEventBus, deleteEventBus, describeEventBus, listEventBuses } from "./operations/event-bus.ts";
import { putEvents, testEventPattern } from "./operations/event.ts";
import { deleteRule, describeRule, disableRule, enableRule, listRules, putRule } from "./operations/rule.ts";
import { listTargetsByRule, putTargets, removeTargets } from "./operations/target.ts";

/** Operations that are known and not offered. */
const notOffered = pending(
  EventBusService,
  "activateEventSource",
  "cancelReplay",
  "createArchive",
  "createEndpoint",
  "createPartnerEventSource",
  "deactivateEventSource",
  "deauthorizeConnection",
  "deleteArchive",
  "deleteEndpoint",
  "deletePartnerEventSource",
  "describeArchive",
  "describeEndpoint",
  "describeEventSource",
  "describePartnerEventSource",
  "describeReplay",
  "listArchives",
  "listEndpoints",
  "listEventSources",
  "listPartnerEventSourceAccounts",
  "listPartnerEventSources",
  "listReplays",
  "listRuleNamesByTarget",
  "listTagsForResource",
  "putPartnerEvents",
  "putPermission",
  "removePermission",
  "startReplay",
  "tagResource",
  "untagResource",
  "updateArchive",
  "updateConnection",
  "updateEndpoint",
  "updateEventBus",
);

/** The whole service: every operation, behind its authorization. */
export const handlers: Handlers<typeof EventBusService, Application> = authorized({
  createApiDestination,
  createConnection,
  createEventBus,
  deleteApiDestination,
  deleteConnection,
  deleteEventBus,
  deleteRule,
  describeApiDestination,
  describeConnection,
  describeEventBus,
  describeRule,
  disableRule,
  enableRule,
  listApiDestinations,
  listConnections,
  listEventBuses,
  listRules,
  listTargetsByRule,
  putEvents,
  putRule,
  putTargets,
  removeTargets,
  testEventPattern,
  updateApiDestination,
  ...notOffered,
});
