/**
 * The map of the event bus database, in byte order.
 *
 *    1  page_token_keys            name                                            -> SecretKey (the kit's own table)
 *   10  buses                      account, bus                                    -> EventBusRecord
 *   11  bus_revisions              account, bus                                    -> BusRevisionRecord
 *   12  rule_changes               account, bus, revision                          -> RuleChangeRecord
 *   13  account_counts             account, table                                  -> AccountCountRecord
 *   20  rules                      account, bus, rule                              -> RuleRecord
 *   21  targets                    account, bus, rule, target id                   -> TargetRecord
 *   22  rules_by_target            account, bus, target ARN, rule, target id       -> IndexRecord
 *   30  connections                account, connection                             -> ConnectionRecord
 *   31  api_destinations           account, API destination                        -> ApiDestinationRecord
 *   32  destinations_by_connection account, connection ARN, API destination        -> IndexRecord
 *   40  events                     account, ingested_ms, event id                  -> EventRecord
 *   41  event_holders              account, ingested_ms, event id, holder          -> IndexRecord
 *   42  sweeps                     account                                         -> SweepRecord
 *   43  event_keys                 account, key id                                 -> EventKeyRecord
 *   44  deduplications             period, account, bus, sender, deduplication id  -> DeduplicationRecord
 *   45  ordered_lanes              account, lane                                   -> OrderedLaneRecord
 *   46  ordered_deliveries         account, lane, number                           -> OrderedDeliveryRecord
 *   50  dead_letters               account, failed_ms (latest first), random       -> DeadLetterRecord
 *   51  dead_letter_groups         account, group id                               -> DeadLetterGroupRecord
 *   52  dead_letters_by_group      account, group id, epoch, failed_ms, random     -> IndexRecord
 *   53  dead_letter_epochs         account                                         -> DeadLetterEpochRecord
 *   54  dead_letter_redrives       account, redrive                                -> DeadLetterRedriveRecord
 *   60  to 66: jobs (the kit's own tables)
 *   70  archives                   account, archive                                -> ArchiveRecord
 *   71  archive_entries            account, archive id, event_ms, ingested_ms, event id -> ArchiveEntryRecord
 *   72  archive_counts             account, archive id, entry                      -> ArchiveCountRecord
 *   73  replays                    account, replay                                 -> ReplayRecord
 *   80  event_sources              account, source                                 -> EventSourceRecord
 *   81  shared_sources             source, account                                 -> IndexRecord
 *   90  global_endpoints           account, endpoint                               -> GlobalEndpointRecord
 *   95  stream_records             account, stream, at_ms, id                      -> StreamRecord
 *  100  counts of events, deliveries and dead letters (the kit's own table)
 *  110  discovered_schemas         account, bus, source, detail type               -> DiscoveredSchemaRecord
 *  111  schema_versions            account, bus, source, detail type, version      -> SchemaVersionRecord
 *
 * Buses, rules, connections, API destinations, archives and replays are named by their names; the default bus is named
 * `default`. Parts that end with `_ms` are milliseconds since 1970. Each family of tables begins at a multiple of ten.
 * The numbers left out between families have never been used. A table that is retired keeps its number and its line.
 * The families 40, 50 and 70 are declared in log-tables.ts.
 */
import * as records from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { jobTables } from "../../kit/jobs/job-tables.ts";
import { pageTokenKeyTable } from "../../kit/page-tokens/page-token-key.ts";
import { countsTable } from "../../kit/store/counts.ts";
import { assertDistinct, defineTable, integer, text } from "../../kit/store/table.ts";
import {
  archiveCounts,
  archiveEntries,
  archives,
  deadLetterEpochs,
  deadLetterGroups,
  deadLetterRedrives,
  deadLetters,
  deadLettersByGroup,
  deduplications,
  eventHolders,
  eventKeys,
  events,
  orderedDeliveries,
  orderedLanes,
  replays,
  sweeps,
} from "./log-tables.ts";

export {
  archiveCounts,
  archiveEntries,
  archives,
  deadLetterEpochs,
  deadLetterGroups,
  deadLetterRedrives,
  deadLetters,
  deadLettersByGroup,
  deduplications,
  eventHolders,
  eventKeys,
  events,
  orderedDeliveries,
  orderedLanes,
  replays,
  sweeps,
};

/**
 * The key of the service's page tokens.
 * Sorted so that it is found by its name.
 *
 *     page_token_keys/"page-tokens"
 *     0001 706167652d746f6b656e7300
 */
export const pageTokenKeys = pageTokenKeyTable(1);

/**
 * Event buses.
 * Sorted so that ListEventBuses reads the buses of an account in order of their names.
 *
 *     buses/"000000000000"/"default"
 *     000a 30303030303030303030303000 64656661756c7400
 */
export const buses = defineTable({
  number: 10,
  name: "buses",
  key: [text("account"), text("bus")],
  value: records.EventBusRecordSchema,
});

/**
 * The number of changes of the rules of a bus; absent before the first change. Kept after the bus is deleted, so that a
 * bus re-created under the name never reuses a revision. Sorted so that it is found by its bus. Written with rules and
 * targets of the bus.
 *
 *     bus_revisions/"000000000000"/"orders"
 *     000b 30303030303030303030303000 6f726465727300
 */
export const busRevisions = defineTable({
  number: 11,
  name: "bus_revisions",
  key: [text("account"), text("bus")],
  value: records.BusRevisionRecordSchema,
});

/**
 * The latest changes of the rules of a bus.
 * Sorted so that the changes since a revision are one range.
 * Written with bus_revisions.
 *
 *     rule_changes/"000000000000"/"orders"/258
 *     000c 30303030303030303030303000 6f726465727300 0000000000000102
 */
export const ruleChanges = defineTable({
  number: 12,
  name: "rule_changes",
  key: [text("account"), text("bus"), integer("revision")],
  value: records.RuleChangeRecordSchema,
});

/**
 * The numbers of an account's buses, connections and API destinations; absent before the first that was created or
 * deleted since they are counted. Sorted so that one is found by its account and the name of its table. Written with
 * the records that it counts.
 *
 *     account_counts/"000000000000"/"buses"
 *     000d 30303030303030303030303000 627573657300
 */
export const accountCounts = defineTable({
  number: 13,
  name: "account_counts",
  key: [text("account"), text("table")],
  value: records.AccountCountRecordSchema,
});

/**
 * Rules.
 * Sorted so that ListRules reads the rules of a bus in order of their names.
 * Written with bus_revisions and rule_changes.
 *
 *     rules/"000000000000"/"orders"/"new"
 *     0014 30303030303030303030303000 6f726465727300 6e657700
 */
export const rules = defineTable({
  number: 20,
  name: "rules",
  key: [text("account"), text("bus"), text("rule")],
  value: records.RuleRecordSchema,
});

/**
 * Targets of rules.
 * Sorted so that ListTargetsByRule reads the targets of a rule in order of their ids.
 * Written with rules and rules_by_target.
 *
 *     targets/"000000000000"/"orders"/"new"/"1"
 *     0015 30303030303030303030303000 6f726465727300 6e657700 3100
 */
export const targets = defineTable({
  number: 21,
  name: "targets",
  key: [text("account"), text("bus"), text("rule"), text("target id")],
  value: records.TargetRecordSchema,
});

/**
 * The rules that have a target.
 * Sorted so that ListRuleNamesByTarget reads the rules of one target in order of their names.
 * Written with targets.
 *
 *     rules_by_target/"000000000000"/"orders"/"arn:x"/"new"/"1"
 *     0016 30303030303030303030303000 6f726465727300 61726e3a7800 6e657700 3100
 */
export const rulesByTarget = defineTable({
  number: 22,
  name: "rules_by_target",
  key: [text("account"), text("bus"), text("target ARN"), text("rule"), text("target id")],
  value: records.IndexRecordSchema,
});

/**
 * Connections.
 * Sorted so that ListConnections reads the connections of an account in order of their names.
 *
 *     connections/"000000000000"/"till"
 *     001e 30303030303030303030303000 74696c6c00
 */
export const connections = defineTable({
  number: 30,
  name: "connections",
  key: [text("account"), text("connection")],
  value: records.ConnectionRecordSchema,
});

/**
 * API destinations.
 * Sorted so that ListApiDestinations reads those of an account in order of their names.
 * Written with destinations_by_connection.
 *
 *     api_destinations/"000000000000"/"sales"
 *     001f 30303030303030303030303000 73616c657300
 */
export const apiDestinations = defineTable({
  number: 31,
  name: "api_destinations",
  key: [text("account"), text("API destination")],
  value: records.ApiDestinationRecordSchema,
});

/**
 * The API destinations that use a connection.
 * Sorted so that ListApiDestinations reads those of one connection in order of their names.
 * Written with api_destinations.
 *
 *     destinations_by_connection/"000000000000"/"arn:c"/"sales"
 *     0020 30303030303030303030303000 61726e3a6300 73616c657300
 */
export const destinationsByConnection = defineTable({
  number: 32,
  name: "destinations_by_connection",
  key: [text("account"), text("connection ARN"), text("API destination")],
  value: records.IndexRecordSchema,
});

/**
 * Deliveries and other delayed work: seven tables of the kit, numbers 60 to 66.
 *
 *     job_bodies/"j"
 *     003c 6a00
 */
export const jobs = jobTables(60);

/**
 * Partner event sources.
 * Sorted so that ListEventSources reads the sources of an account in order of their names.
 * Written with shared_sources.
 *
 *     event_sources/"000000000000"/"aws.partner/acme/sales"
 *     0050 30303030303030303030303000 6177732e706172746e65722f61636d652f73616c657300
 */
export const eventSources = defineTable({
  number: 80,
  name: "event_sources",
  key: [text("account"), text("source")],
  value: records.EventSourceRecordSchema,
});

/**
 * The accounts with which sources are shared.
 * Sorted so that the sources of a partner are one range, and the accounts of a source another.
 * Written with event_sources.
 *
 *     shared_sources/"aws.partner/acme/sales"/"000000000000"
 *     0051 6177732e706172746e65722f61636d652f73616c657300 30303030303030303030303000
 */
export const sharedSources = defineTable({
  number: 81,
  name: "shared_sources",
  key: [text("source"), text("account")],
  value: records.IndexRecordSchema,
});

/**
 * Global endpoints.
 * Sorted so that ListEndpoints reads the endpoints of an account in order of their names.
 *
 *     global_endpoints/"000000000000"/"sales"
 *     005a 30303030303030303030303000 73616c657300
 */
export const globalEndpoints = defineTable({
  number: 90,
  name: "global_endpoints",
  key: [text("account"), text("endpoint")],
  value: records.GlobalEndpointRecordSchema,
});

/**
 * Records that wait in delivery streams until they are written as objects.
 * Sorted so that the oldest records of a stream come first.
 * Written with the end of the delivery of each.
 *
 *     stream_records/"000000000000"/"sales"/1767323045000/"r"
 *     005f 30303030303030303030303000 73616c657300 0000019b7ca98c88 7200
 */
export const streamRecords = defineTable({
  number: 95,
  name: "stream_records",
  key: [text("account"), text("stream"), integer("at_ms"), text("id")],
  value: records.StreamRecordSchema,
});

/** Events taken, ends of deliveries, and dead letters, found by their names: counts/"events" is 0064 6576656e747300. */
export const counts = countsTable(100);

/**
 * What is known of the events of a source and detail type.
 * Sorted so that DiscoverSchemas reads the schemas of a bus by source, then detail type.
 * Written with schema_versions, where the shape of the events changed.
 *
 *     discovered_schemas/"000000000000"/"default"/"shop"/"Sale"
 *     006e 30303030303030303030303000 64656661756c7400 73686f7000 53616c6500
 */
export const discoveredSchemas = defineTable({
  number: 110,
  name: "discovered_schemas",
  key: [text("account"), text("bus"), text("source"), text("detail type")],
  value: records.DiscoveredSchemaRecordSchema,
});

/**
 * The last versions of each discovered schema.
 * Sorted so that the versions of a schema are one range in their order.
 * Written with discovered_schemas.
 *
 *     schema_versions/"000000000000"/"default"/"shop"/"Sale"/2
 *     006f 30303030303030303030303000 64656661756c7400 73686f7000 53616c6500 0000000000000002
 */
export const schemaVersions = defineTable({
  number: 111,
  name: "schema_versions",
  key: [text("account"), text("bus"), text("source"), text("detail type"), integer("version")],
  value: records.SchemaVersionRecordSchema,
});

/** Every table of this database. */
export const layout = [
  pageTokenKeys,
  buses,
  busRevisions,
  ruleChanges,
  accountCounts,
  rules,
  targets,
  rulesByTarget,
  connections,
  apiDestinations,
  destinationsByConnection,
  events,
  eventHolders,
  sweeps,
  eventKeys,
  deduplications,
  orderedLanes,
  orderedDeliveries,
  deadLetters,
  deadLetterGroups,
  deadLettersByGroup,
  deadLetterEpochs,
  deadLetterRedrives,
  ...Object.values(jobs),
  archives,
  archiveEntries,
  archiveCounts,
  replays,
  eventSources,
  sharedSources,
  globalEndpoints,
  streamRecords,
  counts,
  discoveredSchemas,
  schemaVersions,
] as const;

assertDistinct(layout);
