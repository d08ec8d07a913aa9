/**
 * The tables of the log of events, and of what keeps its events: dead letters, archives and replays. The map of the
 * database is in layout.ts.
 */
import * as records from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { defineTable, integer, reversed, text } from "../../kit/store/table.ts";

/**
 * The log of events. Ids are random, so a clock that was set back overwrites nothing.
 * Sorted so that the sweep reads the oldest events of an account first.
 * Written with event_holders and the jobs of the event's deliveries.
 *
 *     events/"000000000000"/1767323045000/"e"
 *     0028 30303030303030303030303000 0000019b7ca98c88 6500
 */
export const events = defineTable({
  number: 40,
  name: "events",
  key: [text("account"), integer("ingested_ms"), text("event id")],
  value: records.EventRecordSchema,
});

/**
 * The deliveries and archives for which an event is kept.
 * Sorted so that the holders of one event are one range.
 * Written with events and archive_entries.
 *
 *     event_holders/"000000000000"/1767323045000/"e"/"archive:a"
 *     0029 30303030303030303030303000 0000019b7ca98c88 6500 617263686976653a6100
 */
export const eventHolders = defineTable({
  number: 41,
  name: "event_holders",
  key: [text("account"), integer("ingested_ms"), text("event id"), text("holder")],
  value: records.IndexRecordSchema,
});

/**
 * How far the log of an account has been swept.
 * Sorted so that it is found by its account.
 * Written with the events that a step of the sweep deletes.
 *
 *     sweeps/"000000000000"
 *     002a 30303030303030303030303000
 */
export const sweeps = defineTable({
  number: 42,
  name: "sweeps",
  key: [text("account")],
  value: records.SweepRecordSchema,
});

/**
 * The data keys under which events of buses with an encryption key are stored. Never deleted: the log, archives and
 * dead letters may have events under each.
 * Sorted so that it is found by its id.
 * Written with the bus that names it for its next events.
 *
 *     event_keys/"000000000000"/"k"
 *     002b 30303030303030303030303000 6b00
 */
export const eventKeys = defineTable({
  number: 43,
  name: "event_keys",
  key: [text("account"), text("key id")],
  value: records.EventKeyRecordSchema,
});

/**
 * The events that were put with a deduplication id, by periods of ten minutes since 1970.
 * Sorted so that those of a period are one range, which is deleted when no put reads it any more.
 * Written with events.
 *
 *     deduplications/2945538/"000000000000"/"default"/"111122223333"/"d"
 *     002c 00000000002cf202 30303030303030303030303000 64656661756c7400 31313131323232323333333300 6400
 */
export const deduplications = defineTable({
  number: 44,
  name: "deduplications",
  key: [integer("period"), text("account"), text("bus"), text("sender"), text("deduplication id")],
  value: records.DeduplicationRecordSchema,
});

/**
 * The keys of targets with ordered delivery that have deliveries which have not ended, by a hash of the bus, the rule,
 * the target's id and the key.
 * Sorted so that it is found by its lane.
 * Written with the job of the delivery that may run, and with ordered_deliveries.
 *
 *     ordered_lanes/"000000000000"/"9f"
 *     002d 30303030303030303030303000 396600
 */
export const orderedLanes = defineTable({
  number: 45,
  name: "ordered_lanes",
  key: [text("account"), text("lane")],
  value: records.OrderedLaneRecordSchema,
});

/**
 * Deliveries that wait for those before them in their lane.
 * Sorted so that each is found by the number that follows that of the one before it.
 * Written with ordered_lanes and event_holders.
 *
 *     ordered_deliveries/"000000000000"/"9f"/1
 *     002e 30303030303030303030303000 396600 0000000000000001
 */
export const orderedDeliveries = defineTable({
  number: 46,
  name: "ordered_deliveries",
  key: [text("account"), text("lane"), integer("number")],
  value: records.OrderedDeliveryRecordSchema,
});

/**
 * Deliveries that failed permanently.
 * Sorted so that ListDeadLetters reads the latest first.
 * Written in the transaction that removes the delivery's job.
 *
 *     dead_letters/"000000000000"/1767323045000/"x"
 *     0032 30303030303030303030303000 fffffe6483567377 7800
 */
export const deadLetters = defineTable({
  number: 50,
  name: "dead_letters",
  key: [text("account"), reversed("failed_ms"), text("random")],
  value: records.DeadLetterRecordSchema,
});

/**
 * The rules, targets and causes of dead letters. A group without letters is deleted by the next sweep.
 * Sorted so that ListDeadLetterGroups reads the groups of an account in order of their ids.
 * Written with dead_letters and the count of the group.
 *
 *     dead_letter_groups/"000000000000"/"9f"
 *     0033 30303030303030303030303000 396600
 */
export const deadLetterGroups = defineTable({
  number: 51,
  name: "dead_letter_groups",
  key: [text("account"), text("group id")],
  value: records.DeadLetterGroupRecordSchema,
});

/**
 * The dead letters of a group. The epoch of a letter is the number of redrives that its account had started.
 * Sorted so that those which existed when a redrive was started are one range, the earliest failure first.
 * Written with dead_letters.
 *
 *     dead_letters_by_group/"000000000000"/"9f"/2/1767323045000/"x"
 *     0034 30303030303030303030303000 396600 0000000000000002 0000019b7ca98c88 7800
 */
export const deadLettersByGroup = defineTable({
  number: 52,
  name: "dead_letters_by_group",
  key: [text("account"), text("group id"), integer("epoch"), integer("failed_ms"), text("random")],
  value: records.IndexRecordSchema,
});

/**
 * The number of redrives that an account has started; absent before the first.
 * Sorted so that it is found by its account.
 * Written with dead_letter_redrives, and read by the transaction of each dead letter.
 *
 *     dead_letter_epochs/"000000000000"
 *     0035 30303030303030303030303000
 */
export const deadLetterEpochs = defineTable({
  number: 53,
  name: "dead_letter_epochs",
  key: [text("account")],
  value: records.DeadLetterEpochRecordSchema,
});

/**
 * Redrives of many dead letters.
 * Sorted so that ListDeadLetterRedrives reads the redrives of an account in order of their names.
 * Written with the job of the redrive's next step.
 *
 *     dead_letter_redrives/"000000000000"/"monday"
 *     0036 30303030303030303030303000 6d6f6e64617900
 */
export const deadLetterRedrives = defineTable({
  number: 54,
  name: "dead_letter_redrives",
  key: [text("account"), text("redrive")],
  value: records.DeadLetterRedriveRecordSchema,
});

/**
 * Archives.
 * Sorted so that ListArchives reads the archives of an account in order of their names.
 * Written with the rule that fills the archive.
 *
 *     archives/"000000000000"/"year"
 *     0046 30303030303030303030303000 7965617200
 */
export const archives = defineTable({
  number: 70,
  name: "archives",
  key: [text("account"), text("archive")],
  value: records.ArchiveRecordSchema,
});

/**
 * The events that an archive keeps.
 * Sorted so that replays send events, and retention deletes them, in order of their time.
 * Written with event_holders and archive_counts.
 *
 *     archive_entries/"000000000000"/"i"/1767323045000/1767323045001/"e"
 *     0047 30303030303030303030303000 6900 0000019b7ca98c88 0000019b7ca98c89 6500
 */
export const archiveEntries = defineTable({
  number: 71,
  name: "archive_entries",
  key: [text("account"), text("archive id"), integer("event_ms"), integer("ingested_ms"), text("event id")],
  value: records.ArchiveEntryRecordSchema,
});

/**
 * The sizes that entries added to an archive, until the sweep adds it to the archive's record. Each entry has a row of
 * its own, so that no two events write the same one. An entry is named `<ingested_ms>/<event id>`.
 * Sorted so that the rows of one archive are one range.
 * Written with archive_entries.
 *
 *     archive_counts/"000000000000"/"i"/"2/e"
 *     0048 30303030303030303030303000 6900 322f6500
 */
export const archiveCounts = defineTable({
  number: 72,
  name: "archive_counts",
  key: [text("account"), text("archive id"), text("entry")],
  value: records.ArchiveCountRecordSchema,
});

/**
 * Replays.
 * Sorted so that ListReplays reads the replays of an account in order of their names.
 * Written with the job of the replay's next step.
 *
 *     replays/"000000000000"/"again"
 *     0049 30303030303030303030303000 616761696e00
 */
export const replays = defineTable({
  number: 73,
  name: "replays",
  key: [text("account"), text("replay")],
  value: records.ReplayRecordSchema,
});
