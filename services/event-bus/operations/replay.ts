/**
 * Replays.
 *
 * StartReplay checks, in order:
 * 1. the start of the time range is before its end;
 * 2. the destination is the ARN of a bus;
 * 3. the source is the ARN of an archive of the account;
 * 4. if the destination is a bus of the account, it exists in this region;
 * 5. the archive exists;
 * 6. the destination is the archive's bus;
 * 7. the name is not in use;
 * 8. the account has fewer active replays than the limit.
 *
 * CancelReplay checks, in order:
 * 1. the replay exists;
 * 2. it has not ended and is not being cancelled.
 *
 * DescribeReplay fails if the replay does not exist, ListReplays if several filters are given.
 */
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";

import type { ReplayRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { StartReplayRequest } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { ReplayState } from "../../../gen/quartet/eventbus/v1/replay_pb.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Revision } from "../access/revision.ts";
import type { Application, Operation } from "../application.ts";
import type { ArnScope } from "../domain/arns.ts";
import {
  archiveArn,
  parseArchiveArn,
  parseBusArn,
  parseBusReference,
  parseTaggedArn,
  replayArn,
} from "../domain/arns.ts";
import { refuseSeveralFilters } from "../domain/filters.ts";
import { instant } from "../domain/instant.ts";
import { ErrorReason, fault } from "../faults.ts";
import { findArchive } from "../store/archive.ts";
import { getBus } from "../store/bus.ts";
import { firstNames } from "../store/named-records.ts";
import * as stored from "../store/replay.ts";
import { enqueueReplayStep } from "../work/replay-job.ts";

const refused = (parameter: string, reason: string): Error =>
  fault(ErrorReason.PARAMETER_REFUSED, { parameter, reason });

/** Sends the events of an archive between two instants to its bus again. */
export const startReplay: Operation<"startReplay"> = async (request, { app, caller }) => {
  const { accountId } = caller;
  const { source, destination, startMs, endMs } = checkedSource(request, accountId, app.arnScope);
  const nowMs = BigInt(app.clock.now());
  const settings = {
    name: request.replayName,
    id: app.ids.uuid(),
    description: request.description,
    destination: request.destination,
    rules: (request.destination?.filterArns ?? []).map((arn) => parseTaggedArn(arn)?.rule ?? arn),
    state: ReplayState.STARTING,
    startMs: BigInt(Math.max(0, startMs)),
    endMs: BigInt(Math.max(0, endMs)),
    startedMs: nowMs,
  };

  await app.store.transact(async (transaction) => {
    if (destination.account === accountId) await getBus(transaction, destination);
    const archive = await findArchive(transaction, accountId, source);
    if (archive === undefined) throw refused("EventSourceArn", `Archive ${source} does not exist.`);
    if (destination.account !== accountId || destination.name !== archive.bus)
      throw refused("Destination.Arn", "Cross event bus replay is not permitted.");
    await refuseNewReplay(app, transaction, accountId, settings.name);
    const { name: archiveName, id: archiveId, bus } = archive;
    stored.putReplay(transaction, accountId, { ...settings, archiveName, archiveId, bus });
    enqueueReplayStep(app.jobs, transaction, accountId, settings);
  });

  return {
    replayArn: replayArn(app.arnScope, accountId, settings.name),
    state: settings.state,
    replayStartTime: instant(nowMs),
  };
};

/** The archive, the bus and the time range of a request. Throws PARAMETER_REFUSED, PARAMETER_NOT_VALID. */
const checkedSource = (
  { destination, eventSourceArn, eventStartTime, eventEndTime }: StartReplayRequest,
  account: string,
  scope: ArnScope,
) => {
  if (destination === undefined || eventStartTime === undefined || eventEndTime === undefined)
    throw fault(ErrorReason.PARAMETER_NOT_VALID, { parameter: "Destination" });
  const startMs = timestampMs(eventStartTime);
  const endMs = timestampMs(eventEndTime);
  if (startMs >= endMs) throw refused("EventEndTime", "EventStartTime must be before EventEndTime.");
  if (parseBusArn(destination.arn) === undefined) throw refused("Destination.Arn", "Must contain an event bus ARN.");
  const bus = parseBusReference(destination.arn, account, scope);
  const archive = parseArchiveArn(eventSourceArn);
  if (archive?.account !== account) throw refused("EventSourceArn", "Must contain an archive ARN of this account.");
  return { source: archive.name, destination: bus, startMs, endMs };
};

/** Throws REPLAY_ALREADY_EXISTS for a name in use, LIMIT_EXCEEDED if the account has too many active replays. */
const refuseNewReplay = async (
  { limits }: Pick<Application, "limits">,
  transaction: Transaction,
  account: string,
  name: string,
): Promise<void> => {
  if ((await stored.findReplay(transaction, account, name)) !== undefined)
    throw fault(ErrorReason.REPLAY_ALREADY_EXISTS, { name });
  const limit = limits.activeReplaysMax;
  if ((await stored.listReplays(transaction, account, firstNames(limit), stored.isActive)).length >= limit)
    throw fault(ErrorReason.LIMIT_EXCEEDED);
};

/** Cancels a replay; events that were sent are not recalled. */
export const cancelReplay: Operation<"cancelReplay"> = async (request, { app, caller }) => {
  const { accountId } = caller;
  const name = request.replayName;
  await app.store.transact(async (transaction) => {
    const replay = await stored.getReplay(transaction, accountId, name);
    if (!stored.isActive(replay) || replay.state === ReplayState.CANCELLING)
      throw fault(ErrorReason.REPLAY_NOT_CANCELLABLE, { name });
    stored.putReplay(transaction, accountId, { ...replay, state: ReplayState.CANCELLING });
  });
  return { replayArn: replayArn(app.arnScope, accountId, name), state: ReplayState.CANCELLING };
};

/** Returns the settings and the progress of a replay. */
export const describeReplay: Operation<"describeReplay"> = async (request, { app, caller }) => {
  const replay = await app.store.read((reader) => stored.getReplay(reader, caller.accountId, request.replayName));
  return {
    ...toReplay(app, caller.accountId, replay),
    replayArn: replayArn(app.arnScope, caller.accountId, replay.name),
    description: replay.description,
    destination: replay.destination,
  };
};

/** Lists the account's replays by name. The filters exclude each other. */
export const listReplays: Operation<"listReplays"> = async (request, context) => {
  const { app, access, caller } = context;
  const { namePrefix, eventSourceArn, state } = request;
  const isFrom = sourceFilter(eventSourceArn, access.revision);
  refuseSeveralFilters("ListReplays", {
    State: state || undefined,
    EventSourceArn: eventSourceArn,
    NamePrefix: namePrefix,
  });
  const page = app.pages.open(context, request, [namePrefix, eventSourceArn, String(state)]);
  const options = { namePrefix: namePrefix ?? "", after: page.after, limit: page.lookFor };
  const accepts = (replay: ReplayRecord): boolean =>
    isFrom(replay) && (state === ReplayState.UNSPECIFIED || state === replay.state);
  const found = await app.store.read((reader) => stored.listReplays(reader, caller.accountId, options, accepts));
  const { items, nextToken } = page.cut(found, (replay) => replay.name);
  return { replays: items.map((replay) => toReplay(app, caller.accountId, replay)), nextToken };
};

/** Accepts the replays of a source: an archive, or in revision B also the bus that fed the archive. */
const sourceFilter = (arn: string | undefined, revision: Revision): ((replay: ReplayRecord) => boolean) => {
  if (arn === undefined) return () => true;
  const archive = parseArchiveArn(arn)?.name;
  const bus = revision.listsReplaysByArchiveOnly ? undefined : parseBusArn(arn)?.name;
  return (replay) => replay.archiveName === archive || replay.bus === bus;
};

const toReplay = (app: Application, account: string, replay: ReplayRecord) => ({
  replayName: replay.name,
  eventSourceArn: archiveArn(app.arnScope, account, replay.archiveName),
  state: replay.state,
  stateReason: replay.stateReason,
  eventStartTime: timestampFromMs(Number(replay.startMs)),
  eventEndTime: timestampFromMs(Number(replay.endMs)),
  eventLastReplayedTime: instant(replay.lastPlace?.eventMs ?? 0n),
  replayStartTime: instant(replay.startedMs),
  replayEndTime: instant(replay.endedMs),
});
