import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type { DeadLetterRedriveRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import {
  DeadLetterPlaceSchema,
  DeadLetterRedriveStepRecordSchema,
} from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { DeadLetterRedriveState } from "../../../gen/quartet/eventbus/v1/dead_letter_pb.ts";
import type { JobHandler, JobPolicy, Jobs } from "../../kit/jobs/jobs.ts";
import { NamedKeyError } from "../../kit/keyring/key-names.ts";
import { SealBrokenError } from "../../kit/keyring/sealed.ts";
import { findOrDamaged, meetsDamage } from "../../kit/store/damage.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import { redriveOwner } from "../domain/delivery-owner.ts";
import { afterLetters, lettersNow } from "../domain/redrive-pace.ts";
import { tooLargeMessage } from "../ingestion/ingest.ts";
import { redriveDeadLetter } from "../ingestion/redrive.ts";
import { findDeadLetterById, idOf } from "../store/dead-letter.ts";
import { listEarlierLetters } from "../store/dead-letter-group.ts";
import { findRedrive, isRunning, putRedrive } from "../store/dead-letter-redrive.ts";

/** The kind of the jobs that redrive many dead letters. */
export const redriveKind = "redrive";

/** A step is retried until it is committed. */
export const redrivePolicy: JobPolicy = { attemptsMax: Infinity, ageMsMax: Infinity, backoff: () => 1_000 };

/** Enqueues the next step of a redrive, which begins when the redrive's pace allows it. */
export const enqueueRedriveStep = (
  jobs: Jobs,
  transaction: Transaction,
  account: string,
  { name, id }: Pick<DeadLetterRedriveRecord, "name" | "id">,
): void => {
  const step = create(DeadLetterRedriveStepRecordSchema, { account, redrive: name, redriveId: id });
  const payload = toBinary(DeadLetterRedriveStepRecordSchema, step);
  jobs.enqueue(transaction, { kind: redriveKind, owner: redriveOwner(account, name), payload });
};

/**
 * Delivers some letters again, deletes them, stores the redrive's progress and enqueues the next step, in one
 * transaction: a redrive delivers each letter again exactly once, whenever the process ends.
 */
export const redriveHandler =
  (app: Application): JobHandler =>
  (job) => {
    const { account, redrive: name, redriveId } = fromBinary(DeadLetterRedriveStepRecordSchema, job.payload);
    const apply = async (transaction: Transaction): Promise<void> => {
      const redrive = await findOrDamaged(findRedrive(transaction, account, name));
      if (redrive === "damaged") {
        app.log.error({ account, redrive: name }, "a damaged redrive ends");
        return;
      }
      if (redrive?.id !== redriveId || !isRunning(redrive)) return;
      await runStep(app, transaction, account, redrive);
    };
    return Promise.resolve({ done: true, apply });
  };

/**
 * Redrives a letter: returns the bytes that it added, or why it remains, as a damaged one does; undefined: it does not
 * exist any more.
 */
const redriveOne = async (
  app: Application,
  transaction: Transaction,
  account: string,
  id: string,
): Promise<{ readonly bytes: number } | { readonly reason: string } | undefined> => {
  try {
    if (await meetsDamage(findDeadLetterById(transaction, account, id))) return { reason: damagedMessage };
    const redriven = await redriveDeadLetter(app, transaction, account, id);
    if (redriven.kind === "absent") return undefined;
    if (redriven.kind === "damaged") return { reason: "The event bus of the dead letter is damaged." };
    return redriven.kind === "redriven" ? redriven : { reason: tooLargeMessage };
  } catch (error) {
    if (error instanceof NamedKeyError) return { reason: error.message };
    if (error instanceof SealBrokenError) return { reason: damagedMessage };
    throw error;
  }
};

const damagedMessage = "The dead letter is damaged.";

const runStep = async (
  app: Application,
  transaction: Transaction,
  account: string,
  redrive: DeadLetterRedriveRecord,
): Promise<void> => {
  const nowMs = app.clock.now();
  const { count: limit } = lettersNow(redrive, nowMs);
  // The clock was set back since the step began.
  if (limit === 0) return enqueueRedriveStep(app.jobs, transaction, account, redrive);
  const { filter, epoch } = redrive;
  const { places, reached } = await listEarlierLetters(transaction.snapshot, account, filter ?? {}, {
    epoch,
    after: redrive.lastPlace,
    limit,
  });
  let { redrivenCount, failedCount, failureReason } = redrive;
  let last = reached;
  let bytes = 0;
  let tried = 0;
  for (const place of places) {
    const redriven = await redriveOne(app, transaction, account, idOf(Number(place.failedMs), place.random));
    if (redriven === undefined) continue;
    tried += 1;
    if ("bytes" in redriven) {
      redrivenCount += 1n;
      bytes += redriven.bytes;
    } else {
      failedCount += 1n;
      failureReason = redriven.reason;
    }
    if (bytes < app.limits.deliveriesBytesMax) continue;
    last = place;
    break;
  }
  const isComplete = last === undefined;
  if (!isComplete) enqueueRedriveStep(app.jobs, transaction, account, redrive);
  putRedrive(transaction, account, {
    ...redrive,
    redrivenCount,
    failedCount,
    failureReason,
    nextMs: afterLetters(redrive, tried, nowMs),
    lastPlace: last === undefined ? redrive.lastPlace : create(DeadLetterPlaceSchema, last),
    ...(isComplete && { state: DeadLetterRedriveState.COMPLETED, endedMs: BigInt(nowMs) }),
  });
};
