import {
  ApiDestinationRecordSchema,
  ArchiveCountRecordSchema,
  ArchiveEntryRecordSchema,
  ArchiveRecordSchema,
  BusRevisionRecordSchema,
  ConnectionRecordSchema,
  DeadLetterRecordSchema,
  EventBusRecordSchema,
  EventRecordSchema,
  IndexRecordSchema,
  ReplayRecordSchema,
  RuleChangeRecordSchema,
  RuleRecordSchema,
  SweepRecordSchema,
  TargetRecordSchema,
} from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { jobTables } from "../../kit/jobs/job-tables.ts";
import { pageTokenKeyTable } from "../../kit/page-tokens/page-token-key.ts";
import { defineTable, integer, reversed, text } from "../../kit/store/table.ts";

/*
 * The keyspace, in byte order.
 *
 *   1  page-token-keys                                            the key that page tokens are sealed with
 *  10  buses                  account, bus                        the buses of an account, by name
 *  11  bus-revisions          account, bus                        whether compiled rules are still those stored
 *  12  rule-changes           account, bus, revision              what a compiled set must read again
 *  20  rules                  account, bus, rule                  the rules of a bus, by name
 *  21  targets                account, bus, rule, target          the targets of a rule, by id
 *  22  rules-by-target        account, bus, arn, rule, target     the rules that can invoke a target
 *  30  connections            account, connection                 the connections of an account, by name
 *  31  api-destinations       account, destination                the API destinations of an account, by name
 *  32  destinations-by-connection  account, arn, destination      those that use one connection
 *  40  events                 account, ingested, event            the log of an account, oldest first
 *  41  event-holders          account, ingested, event, holder    why an entry of the log is kept
 *  42  sweeps                 account                             how far the log has been swept
 *  50  dead-letters           account, failed, id                 what was given up, latest first
 *  60  job-bodies … 64 jobs-leased                                deliveries and other delayed work
 *  70  archives               account, archive                    the archives of an account, by name
 *  71  archive-entries        account, id, time, ingested, event  what an archive keeps, by the events' time
 *  72  archive-counts         account, id, entry                  what was added since the last adding up
 *  73  replays                account, replay                     the replays of an account, by name
 *
 * `bus` is a name, `default` for the default bus; `ingested` and `failed` are milliseconds since 1970.
 */

/** Example: `page-token-keys/"page-tokens"`. */
export const pageTokenKeys = pageTokenKeyTable(1);

/**
 * Sorted so that ListEventBuses reads a page in order of names.
 * Example: `buses/"000000000000"/"default"` = 000a 303030303030303030303030 00 64656661756c74 00.
 */
export const buses = defineTable({
  number: 10,
  name: "buses",
  key: [text("account"), text("bus")],
  value: EventBusRecordSchema,
});

/** Written with rules and targets of the bus; absent while nothing was changed. Outlives the bus, as its revisions never repeat. */
export const busRevisions = defineTable({
  number: 11,
  name: "bus-revisions",
  key: [text("account"), text("bus")],
  value: BusRevisionRecordSchema,
});

/** Sorted so that the changes since a revision are one range. Written with bus-revisions; only the latest are kept. */
export const ruleChanges = defineTable({
  number: 12,
  name: "rule-changes",
  key: [text("account"), text("bus"), integer("revision")],
  value: RuleChangeRecordSchema,
});

/** Sorted so that ListRules reads a page in order of names. Written with bus-revisions and rule-changes. */
export const rules = defineTable({
  number: 20,
  name: "rules",
  key: [text("account"), text("bus"), text("rule")],
  value: RuleRecordSchema,
});

/** Sorted so that ListTargetsByRule reads a page in order of ids. Written with rules and rules-by-target. */
export const targets = defineTable({
  number: 21,
  name: "targets",
  key: [text("account"), text("bus"), text("rule"), text("target")],
  value: TargetRecordSchema,
});

/** Sorted so that the rules that can invoke a target are one range. Written with targets. */
export const rulesByTarget = defineTable({
  number: 22,
  name: "rules-by-target",
  key: [text("account"), text("bus"), text("arn"), text("rule"), text("target")],
  value: IndexRecordSchema,
});

/** Sorted so that ListConnections reads a page in order of names. */
export const connections = defineTable({
  number: 30,
  name: "connections",
  key: [text("account"), text("connection")],
  value: ConnectionRecordSchema,
});

/** Sorted so that ListApiDestinations reads a page in order of names. Written with destinations-by-connection. */
export const apiDestinations = defineTable({
  number: 31,
  name: "api-destinations",
  key: [text("account"), text("destination")],
  value: ApiDestinationRecordSchema,
});

/** Sorted so that the destinations of one connection are one range. Written with api-destinations. */
export const destinationsByConnection = defineTable({
  number: 32,
  name: "destinations-by-connection",
  key: [text("account"), text("arn"), text("destination")],
  value: IndexRecordSchema,
});

/**
 * Sorted so that the sweep and a look at the latest events read one range. Written with event-holders and the jobs of
 * its deliveries. The event's id is random, so a clock that went back overwrites nothing.
 */
export const events = defineTable({
  number: 40,
  name: "events",
  key: [text("account"), integer("ingested"), text("event")],
  value: EventRecordSchema,
});

/** Sorted so that the holders of one event are one range; an entry of the log is deleted with the last of them. */
export const eventHolders = defineTable({
  number: 41,
  name: "event-holders",
  key: [text("account"), integer("ingested"), text("event"), text("holder")],
  value: IndexRecordSchema,
});

/** Written with every step of the log's sweep. */
export const sweeps = defineTable({
  number: 42,
  name: "sweeps",
  key: [text("account")],
  value: SweepRecordSchema,
});

/** Sorted so that the latest come first. Written in the transaction that removes the delivery's job. */
export const deadLetters = defineTable({
  number: 50,
  name: "dead-letters",
  key: [text("account"), reversed("failed"), text("id")],
  value: DeadLetterRecordSchema,
});

/** Numbers 60 to 64. */
export const jobs = jobTables(60);

/** Sorted so that ListArchives reads a page in order of names. Written with the rule that fills the archive. */
export const archives = defineTable({
  number: 70,
  name: "archives",
  key: [text("account"), text("archive")],
  value: ArchiveRecordSchema,
});

/** Sorted so that a replay reads events in order of their time, and the oldest are let go first. Written with event-holders. */
export const archiveEntries = defineTable({
  number: 71,
  name: "archive-entries",
  key: [text("account"), text("id"), integer("time"), integer("ingested"), text("event")],
  value: ArchiveEntryRecordSchema,
});

/** Written with archive-entries: one row for each, so that no two events write the same one. */
export const archiveCounts = defineTable({
  number: 72,
  name: "archive-counts",
  key: [text("account"), text("id"), text("entry")],
  value: ArchiveCountRecordSchema,
});

/** Sorted so that ListReplays reads a page in order of names. */
export const replays = defineTable({
  number: 73,
  name: "replays",
  key: [text("account"), text("replay")],
  value: ReplayRecordSchema,
});
