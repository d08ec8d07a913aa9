import { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { guarded } from "../kit/server/guard.ts";
import { guard } from "./access/guard.ts";
import {
  createApiDestination,
  deleteApiDestination,
  describeApiDestination,
  listApiDestinations,
  updateApiDestination,
} from "./operations/api-destination.ts";
import { testEventPatternOnArchive } from "./operations/archive-dry-run.ts";
import { createArchive, deleteArchive, describeArchive, listArchives, updateArchive } from "./operations/archive.ts";
import {
  createConnection,
  deauthorizeConnection,
  deleteConnection,
  describeConnection,
  listConnections,
  updateConnection,
} from "./operations/connection.ts";
import { listDeadLetterGroups, listDeadLetters, redriveDeadLetters } from "./operations/dead-letter.ts";
import {
  cancelDeadLetterRedrive,
  describeDeadLetterRedrive,
  listDeadLetterRedrives,
  startDeadLetterRedrive,
} from "./operations/dead-letter-redrive.ts";
import {
  deleteDiscoveredSchema,
  describeDiscoveredSchema,
  discoverSchemas,
  startSchemaDiscovery,
  stopSchemaDiscovery,
} from "./operations/discovered-schema.ts";
import { traceEvent } from "./operations/event-trace.ts";
import {
  createEventBus,
  deleteEventBus,
  describeEventBus,
  listEventBuses,
  updateEventBus,
} from "./operations/event-bus.ts";
import { putEvents, testEventPattern } from "./operations/event.ts";
import {
  activateEventSource,
  deactivateEventSource,
  describeEventSource,
  listEventSources,
} from "./operations/event-source.ts";
import {
  createEndpoint,
  deleteEndpoint,
  describeEndpoint,
  listEndpoints,
  updateEndpoint,
} from "./operations/global-endpoint.ts";
import {
  createPartnerEventSource,
  deletePartnerEventSource,
  describePartnerEventSource,
  listPartnerEventSourceAccounts,
  listPartnerEventSources,
  putPartnerEvents,
} from "./operations/partner-event-source.ts";
import { putPermission, removePermission } from "./operations/permission.ts";
import { cancelReplay, describeReplay, listReplays, startReplay } from "./operations/replay.ts";
import { deleteRule, describeRule, disableRule, enableRule, listRules, putRule } from "./operations/rule.ts";
import { listTagsForResource, tagResource, untagResource } from "./operations/tag.ts";
import { listRuleNamesByTarget, listTargetsByRule, putTargets, removeTargets } from "./operations/target.ts";

/** Every operation of the service, reached only through the guard. */
export const handlers = guarded(
  EventBusService,
  {
    createEventBus,
    describeEventBus,
    listEventBuses,
    updateEventBus,
    deleteEventBus,
    putRule,
    describeRule,
    listRules,
    enableRule,
    disableRule,
    deleteRule,
    putTargets,
    listTargetsByRule,
    listRuleNamesByTarget,
    removeTargets,
    putEvents,
    testEventPattern,
    testEventPatternOnArchive,
    traceEvent,
    startSchemaDiscovery,
    stopSchemaDiscovery,
    discoverSchemas,
    describeDiscoveredSchema,
    deleteDiscoveredSchema,
    createConnection,
    describeConnection,
    listConnections,
    updateConnection,
    deauthorizeConnection,
    deleteConnection,
    createApiDestination,
    describeApiDestination,
    listApiDestinations,
    updateApiDestination,
    deleteApiDestination,
    createArchive,
    describeArchive,
    listArchives,
    updateArchive,
    deleteArchive,
    startReplay,
    describeReplay,
    listReplays,
    cancelReplay,
    putPermission,
    removePermission,
    tagResource,
    untagResource,
    listTagsForResource,
    listDeadLetters,
    listDeadLetterGroups,
    redriveDeadLetters,
    startDeadLetterRedrive,
    describeDeadLetterRedrive,
    listDeadLetterRedrives,
    cancelDeadLetterRedrive,
    activateEventSource,
    deactivateEventSource,
    describeEventSource,
    listEventSources,
    createPartnerEventSource,
    deletePartnerEventSource,
    describePartnerEventSource,
    listPartnerEventSources,
    listPartnerEventSourceAccounts,
    putPartnerEvents,
    createEndpoint,
    describeEndpoint,
    listEndpoints,
    updateEndpoint,
    deleteEndpoint,
  },
  guard,
);
