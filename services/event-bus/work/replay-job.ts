import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type { ArchivePlace, EventRecord, ReplayRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { ReplayStepRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { ReplayState } from "../../../gen/quartet/eventbus/v1/replay_pb.ts";
import type { JobHandler, JobPolicy, Jobs } from "../../kit/jobs/jobs.ts";
import { NamedKeyError } from "../../kit/keyring/key-names.ts";
import { SealBrokenError } from "../../kit/keyring/sealed.ts";
import { findOrDamaged } from "../../kit/store/damage.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import { ingestEvent, openBus, tooLargeMessage } from "../ingestion/ingest.ts";
import { findArchive, listArchivedEvents } from "../store/archive.ts";
import { findReplay, isActive, putReplay } from "../store/replay.ts";

/** The kind of the jobs that send replays. */
export const replayKind = "replay";

/** A step is retried until it is committed. */
export const replayPolicy: JobPolicy = { attemptsMax: Infinity, ageMsMax: Infinity, backoff: () => 1_000 };

/** Events of one step. The step ends earlier at the end of a minute, and if their deliveries fill a transaction. */
const stepSize = 50;

const minuteOf = (timeMs: bigint): bigint => timeMs / 60_000n;

/** Enqueues the next step of a replay. */
export const enqueueReplayStep = (
  jobs: Jobs,
  transaction: Transaction,
  account: string,
  replay: { readonly name: string; readonly id: string },
): void => {
  const step = create(ReplayStepRecordSchema, { account, replay: replay.name, replayId: replay.id });
  const payload = toBinary(ReplayStepRecordSchema, step);
  jobs.enqueue(transaction, { kind: replayKind, owner: `replay/${account}`, payload });
};

/**
 * Sends some events of one minute of a replay in order of their time, stores the replay's progress and enqueues the
 * next step, in one transaction: a replay puts each event on the bus exactly once. An event that is damaged or missing
 * is left out, and logged.
 */
export const replayHandler =
  (app: Application): JobHandler =>
  (job) => {
    const { account, replay: name, replayId } = fromBinary(ReplayStepRecordSchema, job.payload);
    const apply = async (transaction: Transaction): Promise<void> => {
      const replay = await findOrDamaged(findReplay(transaction, account, name));
      if (replay === "damaged") {
        app.log.error({ account, replay: name }, "a damaged replay ends");
        return;
      }
      if (replay?.id !== replayId || !isActive(replay)) return;
      putReplay(transaction, account, await runStep(app, transaction, account, replay));
    };
    return Promise.resolve({ done: true, apply });
  };

/** An archived event with all its members, or why it cannot be read now; undefined: it is damaged. */
const openEvent = async (
  { sealing }: Application,
  reader: Reader,
  account: string,
  event: EventRecord,
): Promise<EventRecord | NamedKeyError | undefined> => {
  try {
    return await sealing.open(reader, account, event);
  } catch (error) {
    if (error instanceof NamedKeyError) return error;
    if (error instanceof SealBrokenError) return undefined;
    throw error;
  }
};

const logLeftOut = (
  { log }: Application,
  transaction: Transaction,
  account: string,
  { name }: ReplayRecord,
  { eventId }: ArchivePlace,
): void =>
  transaction.afterCommit(() =>
    log.error({ account, replay: name, eventId }, "an event that is damaged or missing was not replayed"),
  );

const runStep = async (
  app: Application,
  transaction: Transaction,
  account: string,
  replay: ReplayRecord,
): Promise<ReplayRecord> => {
  const end = (state: ReplayState, stateReason?: string): ReplayRecord => ({
    ...replay,
    state,
    stateReason,
    endedMs: BigInt(app.clock.now()),
  });
  if (replay.state === ReplayState.CANCELLING) return end(ReplayState.CANCELLED);
  const archive = await findOrDamaged(findArchive(transaction, account, replay.archiveName));
  if (archive === "damaged") return end(ReplayState.FAILED, "The archive is damaged.");
  if (archive?.id !== replay.archiveId) return end(ReplayState.FAILED, "The archive does not exist any more.");
  const bus = await findOrDamaged(openBus(app, transaction, { account, name: replay.bus }));
  if (bus === "damaged") return end(ReplayState.FAILED, "The event bus is damaged.");
  if (bus.record === undefined) return end(ReplayState.FAILED, "The event bus does not exist any more.");

  const range = { fromMs: Number(replay.startMs), toMs: Number(replay.endMs), after: replay.lastPlace };
  const archived = await listArchivedEvents(transaction, account, archive.id, range, stepSize);
  const onlyRules = replay.rules.length === 0 ? undefined : new Set(replay.rules);
  if (archived.length === 0) return end(ReplayState.COMPLETED);
  const firstMinute = minuteOf(archived.find(({ event }) => event !== undefined)?.event?.timeMs ?? 0n);
  let { lastPlace } = replay;
  let bytes = 0;
  for (const { event, place } of archived) {
    const isOfMinute = event === undefined || minuteOf(event.timeMs) === firstMinute;
    if (bytes >= app.limits.deliveriesBytesMax || !isOfMinute) break;
    const opened = event && (await openEvent(app, transaction, account, event));
    if (opened === undefined) {
      lastPlace = place;
      logLeftOut(app, transaction, account, replay, place);
      continue;
    }
    if (opened instanceof NamedKeyError) return { ...end(ReplayState.FAILED, opened.message), lastPlace };
    const replayed = { ...opened, replayName: replay.name, hops: 0 };
    const ingested = await ingestEvent(app, transaction, bus, replayed, onlyRules);
    if (ingested.kind === "too-large")
      return { ...end(ReplayState.FAILED, `Event ${opened.id}: ${tooLargeMessage}`), lastPlace };
    lastPlace = place;
    bytes += ingested.bytes;
  }
  enqueueReplayStep(app.jobs, transaction, account, replay);
  return { ...replay, state: ReplayState.RUNNING, lastPlace };
};
