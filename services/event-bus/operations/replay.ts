/**
 * Replays. Starting refuses a time range that is none, a destination that is no bus, a source that is no archive of the
 * account or not there, a destination other than the archive's bus, a name that is taken, then one replay too many.
 * Cancelling refuses a replay that is not there, then one that has ended.
 */
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";

import type { ReplayRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { ReplayState } from "../../../gen/quartet/eventbus/v1/replay_pb.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Application, Operation } from "../application.ts";
import { archiveArn, parseArchiveArn, parseBusArn, parseTaggedArn, replayArn } from "../domain/arns.ts";
import { refuseSeveralFilters } from "../domain/filters.ts";
import { instant } from "../domain/instant.ts";
import { ErrorReason, fault } from "../faults.ts";
import { revisionOf } from "../access/revision.ts";
import { enqueueReplayStep } from "../work/replay-job.ts";
import { findArchive } from "../store/archive.ts";
import * as stored from "../store/replay.ts";
import { cutPage, pageOf } from "./page.ts";

type Context = CallContext<Application>;

const refused = (parameter: string, reason: string): Error =>
  fault(ErrorReason.PARAMETER_REFUSED, { parameter, reason });

/** Sends the events of an archive between two instants to its bus again. */
export const startReplay: Operation<"startReplay"> = async (request, { app, caller }) => {
  const { accountId } = caller;
  const { replayName: name, description, destination, eventStartTime, eventEndTime } = request;
  if (destination === undefined || eventStartTime === undefined || eventEndTime === undefined)
    throw fault(ErrorReason.PARAMETER_NOT_VALID, { parameter: "Destination" });
  const startMs = timestampMs(eventStartTime);
  const endMs = timestampMs(eventEndTime);
  if (startMs >= endMs) throw refused("EventEndTime", "EventStartTime must be before EventEndTime.");
  const bus = parseBusArn(destination.arn);
  if (bus === undefined) throw refused("Destination.Arn", "Must contain an event bus ARN.");
  const source = parseArchiveArn(request.eventSourceArn);
  if (source?.account !== accountId) throw refused("EventSourceArn", "Must contain an archive ARN of this account.");
  const nowMs = BigInt(app.clock.now());
  const id = app.ids.uuid();

  await app.store.transact(async (transaction) => {
    const archive = await findArchive(transaction, accountId, source.name);
    if (archive === undefined) throw refused("EventSourceArn", `Archive ${source.name} does not exist.`);
    if (bus.account !== accountId || bus.name !== archive.bus)
      throw refused("Destination.Arn", "Cross event bus replay is not permitted.");
    if ((await stored.findReplay(transaction, accountId, name)) !== undefined)
      throw fault(ErrorReason.REPLAY_ALREADY_EXISTS, { name });
    const limit = app.limits.activeReplaysMax;
    const options = { namePrefix: "", after: undefined, limit };
    if ((await stored.listReplays(transaction, accountId, options, stored.isActive)).length >= limit)
      throw fault(ErrorReason.LIMIT_EXCEEDED);
    stored.putReplay(transaction, accountId, {
      name,
      id,
      description,
      state: ReplayState.STARTING,
      archiveName: archive.name,
      archiveId: archive.id,
      bus: archive.bus,
      rules: destination.filterArns.map((arn) => parseTaggedArn(arn)?.rule ?? arn),
      destination,
      startMs: BigInt(Math.max(0, startMs)),
      endMs: BigInt(Math.max(0, endMs)),
      startedMs: nowMs,
    });
    enqueueReplayStep(app.jobs, transaction, accountId, { name, id });
  });

  return {
    replayArn: replayArn(app.place, accountId, name),
    state: ReplayState.STARTING,
    replayStartTime: instant(nowMs),
  };
};

/** Stops a replay; what was sent stays sent. */
export const cancelReplay: Operation<"cancelReplay"> = async (request, { app, caller }) => {
  const { accountId } = caller;
  const name = request.replayName;
  await app.store.transact(async (transaction) => {
    const replay = await stored.getReplay(transaction, accountId, name);
    if (!stored.isActive(replay) || replay.state === ReplayState.CANCELLING)
      throw fault(ErrorReason.REPLAY_NOT_CANCELLABLE, { name });
    stored.putReplay(transaction, accountId, { ...replay, state: ReplayState.CANCELLING });
  });
  return { replayArn: replayArn(app.place, accountId, name), state: ReplayState.CANCELLING };
};

/** Tells a replay's settings and progress. */
export const describeReplay: Operation<"describeReplay"> = async (request, { app, caller }) => {
  const replay = await app.store.read((reader) => stored.getReplay(reader, caller.accountId, request.replayName));
  return {
    ...toReplay(app, caller.accountId, replay),
    replayArn: replayArn(app.place, caller.accountId, replay.name),
    description: replay.description,
    destination: replay.destination,
  };
};

/** Lists the account's replays by name; its filters exclude each other. */
export const listReplays: Operation<"listReplays"> = async (request, context) => {
  const { app, caller } = context;
  const { namePrefix, eventSourceArn, state } = request;
  const isFrom = sourceFilter(eventSourceArn, context);
  refuseSeveralFilters("ListReplays", {
    NamePrefix: namePrefix,
    EventSourceArn: eventSourceArn,
    State: state || undefined,
  });
  const page = pageOf(context, request, [namePrefix, eventSourceArn, String(state)]);
  const options = { namePrefix: namePrefix ?? "", after: page.after, limit: page.lookFor };
  const accepts = (replay: ReplayRecord): boolean =>
    isFrom(replay) && (state === ReplayState.UNSPECIFIED || state === replay.state);
  const found = await app.store.read((reader) => stored.listReplays(reader, caller.accountId, options, accepts));
  const { items, nextToken } = cutPage(page, found, (replay) => replay.name);
  return { replays: items.map((replay) => toReplay(app, caller.accountId, replay)), nextToken };
};

/** Whether a replay is of a source: an archive, in revision B also the bus that fed it. */
const sourceFilter = (arn: string | undefined, context: Context): ((replay: ReplayRecord) => boolean) => {
  if (arn === undefined) return () => true;
  const archive = parseArchiveArn(arn)?.name;
  const bus = revisionOf(context).listsReplaysByArchiveOnly ? undefined : parseBusArn(arn)?.name;
  return (replay) => replay.archiveName === archive || replay.bus === bus;
};

const toReplay = (app: Application, account: string, replay: ReplayRecord) => ({
  replayName: replay.name,
  eventSourceArn: archiveArn(app.place, account, replay.archiveName),
  state: replay.state,
  stateReason: replay.stateReason,
  eventStartTime: timestampFromMs(Number(replay.startMs)),
  eventEndTime: timestampFromMs(Number(replay.endMs)),
  eventLastReplayedTime: instant(replay.lastPlace?.eventMs ?? 0n),
  replayStartTime: instant(replay.startedMs),
  replayEndTime: instant(replay.endedMs),
});
