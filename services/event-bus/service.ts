import { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import type { Handlers } from "../kit/server/handlers.ts";
import { pending } from "../kit/server/handlers.ts";
import type { Application } from "./application.ts";
import { authorized } from "./access/guard.ts";
import {
  createApiDestination,
  deleteApiDestination,
  describeApiDestination,
  listApiDestinations,
  updateApiDestination,
} from "./operations/api-destination.ts";
import { createArchive, deleteArchive, describeArchive, listArchives, updateArchive } from "./operations/archive.ts";
import { cancelReplay, describeReplay, listReplays, startReplay } from "./operations/replay.ts";
import {
  createConnection,
  deauthorizeConnection,
  deleteConnection,
  describeConnection,
  listConnections,
  updateConnection,
} from "./operations/connection.ts";
import { listDeadLetters, redriveDeadLetters } from "./operations/dead-letter.ts";
import {
  createEventBus,
  deleteEventBus,
  describeEventBus,
  listEventBuses,
  updateEventBus,
} from "./operations/event-bus.ts";
import { putEvents, testEventPattern } from "./operations/event.ts";
import { putPermission, removePermission } from "./operations/permission.ts";
import { deleteRule, describeRule, disableRule, enableRule, listRules, putRule } from "./operations/rule.ts";
import { listTagsForResource, tagResource, untagResource } from "./operations/tag.ts";
import { listRuleNamesByTarget, listTargetsByRule, putTargets, removeTargets } from "./operations/target.ts";

/** Operations that are known and not offered. */
const notOffered = pending(
  EventBusService,
  "activateEventSource",
  "createEndpoint",
  "createPartnerEventSource",
  "deactivateEventSource",
  "deleteEndpoint",
  "deletePartnerEventSource",
  "describeEndpoint",
  "describeEventSource",
  "describePartnerEventSource",
  "listEndpoints",
  "listEventSources",
  "listPartnerEventSourceAccounts",
  "listPartnerEventSources",
  "putPartnerEvents",
  "updateEndpoint",
);

/** The whole service: every operation, behind its authorization. */
export const handlers: Handlers<typeof EventBusService, Application> = authorized({
  cancelReplay,
  createApiDestination,
  createArchive,
  createConnection,
  createEventBus,
  deauthorizeConnection,
  deleteApiDestination,
  deleteArchive,
  deleteConnection,
  deleteEventBus,
  deleteRule,
  describeApiDestination,
  describeArchive,
  describeConnection,
  describeEventBus,
  describeReplay,
  describeRule,
  disableRule,
  enableRule,
  listApiDestinations,
  listArchives,
  listConnections,
  listDeadLetters,
  listEventBuses,
  listReplays,
  listRuleNamesByTarget,
  listRules,
  listTagsForResource,
  listTargetsByRule,
  putEvents,
  putPermission,
  putRule,
  putTargets,
  redriveDeadLetters,
  removePermission,
  removeTargets,
  startReplay,
  tagResource,
  testEventPattern,
  untagResource,
  updateApiDestination,
  updateArchive,
  updateConnection,
  updateEventBus,
  ...notOffered,
});
