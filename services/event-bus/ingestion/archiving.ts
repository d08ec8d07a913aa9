import type { EventBusRecord, EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import { leaveDeadLetter } from "../delivery/dead-letter-job.ts";
import { archiveNameOfRule } from "../domain/archive.ts";
import type { BusReference } from "../domain/arns.ts";
import { archiveArn, ruleArn } from "../domain/arns.ts";
import { archiveHolder, putArchiveEntry } from "../store/archive.ts";
import type { WatchingRule } from "../store/watching-rule.ts";
import type { EventKey } from "../store/event.ts";

type Archiving = Pick<Application, "arnScope" | "clock" | "ids" | "jobs" | "reachesQueues" | "sealing">;

/** An event that is put on a bus, with all its members. */
interface ArchivedEvent {
  readonly key: EventKey;
  readonly record: EventRecord;
  readonly bus: BusReference;
  readonly busRecord: EventBusRecord;
}

/**
 * Puts an event into the archives that rules fill. An archive with a key has a copy of its own under it; if the key
 * cannot be used, the event becomes a dead letter of the archive. Returns the holders of the event for the others,
 * which keep it in the log.
 */
export const archiveEvent = async (
  app: Archiving,
  transaction: Transaction,
  event: ArchivedEvent,
  rules: readonly WatchingRule[],
): Promise<string[]> => {
  const { key, record, bus } = event;
  const holders: string[] = [];
  for (const { name, archiveId, archiveKeyId } of rules) {
    if (archiveId === undefined) continue;
    const sealing = await app.sealing.under(transaction, bus.account, archiveKeyId);
    switch (sealing.kind) {
      case "clear":
        putArchiveEntry(transaction, key, archiveId, record);
        holders.push(archiveHolder(archiveId));
        break;
      case "sealed":
        putArchiveEntry(transaction, key, archiveId, record, sealing.seal(record));
        break;
      case "unusable":
        await leaveUnarchived(app, transaction, event, name, sealing.reason.message, sealing.seal(record));
    }
  }
  return holders;
};

const leaveUnarchived = (
  app: Archiving,
  transaction: Transaction,
  { bus, busRecord }: ArchivedEvent,
  rule: string,
  reason: string,
  sealed: EventRecord,
): Promise<void> =>
  leaveDeadLetter(app, transaction, bus.account, {
    event: sealed,
    ruleArn: ruleArn(app.arnScope, bus, rule),
    targetArn: archiveArn(app.arnScope, bus.account, archiveNameOfRule(rule)),
    errorCode: "NO_PERMISSIONS",
    errorMessage: reason,
    queueArn: busRecord.deadLetterConfig?.arn,
    bus: bus.name,
    rule,
  });
