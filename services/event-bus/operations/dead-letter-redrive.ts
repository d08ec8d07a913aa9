/**
 * Redrives of many dead letters.
 *
 * StartDeadLetterRedrive checks, in order:
 * 1. the group exists, if one is named;
 * 2. the name is not in use;
 * 3. the account has fewer active redrives than the limit.
 *
 * CancelDeadLetterRedrive checks, in order:
 * 1. the redrive exists;
 * 2. it has not ended.
 *
 * DescribeDeadLetterRedrive fails if the redrive does not exist, ListDeadLetterRedrives only for an invalid page token.
 */
import type { DeadLetterRedriveRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { DeadLetterRedriveState } from "../../../gen/quartet/eventbus/v1/dead_letter_pb.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Application, Operation } from "../application.ts";
import { instant } from "../domain/instant.ts";
import { ErrorReason, fault } from "../faults.ts";
import { beginLetterEpoch } from "../store/dead-letter.ts";
import { countLetters, hasLetters } from "../store/dead-letter-group.ts";
import * as stored from "../store/dead-letter-redrive.ts";
import { firstNames } from "../store/named-records.ts";
import { enqueueRedriveStep } from "../work/redrive-job.ts";

/** Starts to deliver the letters of a filter again: those that exist when it commits, and no later ones. */
export const startDeadLetterRedrive: Operation<"startDeadLetterRedrive"> = async (request, { app, caller }) => {
  const { accountId } = caller;
  const { redriveName: name, filter, maxLettersPerSecond } = request;
  const id = app.ids.uuid();
  const nowMs = app.clock.now();
  const redrive = await app.store.transact(async (transaction) => {
    const groupId = filter?.groupId;
    if (groupId !== undefined && !(await hasLetters(transaction, accountId, groupId)))
      throw fault(ErrorReason.DEAD_LETTER_GROUP_NOT_FOUND, { id: groupId });
    await refuseNewRedrive(app, transaction, accountId, name);
    const letterCount = await countLetters(transaction, accountId, filter ?? {});
    stored.putRedrive(transaction, accountId, {
      name,
      id,
      state: DeadLetterRedriveState.RUNNING,
      filter: filter ?? {},
      maxLettersPerSecond,
      epoch: BigInt(await beginLetterEpoch(transaction, accountId, nowMs)),
      letterCount: letterCount === undefined ? undefined : BigInt(letterCount),
      startedMs: BigInt(nowMs),
    });
    enqueueRedriveStep(app.jobs, transaction, accountId, { name, id });
    return stored.getRedrive(transaction, accountId, name);
  });
  return { redrive: toRedrive(redrive) };
};

/** Throws REDRIVE_ALREADY_EXISTS for a name in use, LIMIT_EXCEEDED if the account has too many active redrives. */
const refuseNewRedrive = async (
  { limits }: Pick<Application, "limits">,
  transaction: Transaction,
  account: string,
  name: string,
): Promise<void> => {
  if ((await stored.findRedrive(transaction, account, name)) !== undefined)
    throw fault(ErrorReason.REDRIVE_ALREADY_EXISTS, { name });
  const limit = limits.activeRedrivesMax;
  if ((await stored.listRedrives(transaction, account, firstNames(limit), stored.isRunning)).length >= limit)
    throw fault(ErrorReason.LIMIT_EXCEEDED);
};

/** Stops a redrive: no further letter is delivered again. */
export const cancelDeadLetterRedrive: Operation<"cancelDeadLetterRedrive"> = async (request, { app, caller }) => {
  const { accountId } = caller;
  const name = request.redriveName;
  const cancelled = await app.store.transact(async (transaction) => {
    const redrive = await stored.getRedrive(transaction, accountId, name);
    if (!stored.isRunning(redrive)) throw fault(ErrorReason.REDRIVE_NOT_CANCELLABLE, { name });
    const ended = {
      ...redrive,
      state: DeadLetterRedriveState.CANCELLED,
      endedMs: BigInt(app.clock.now()),
    };
    stored.putRedrive(transaction, accountId, ended);
    return ended;
  });
  return { redrive: toRedrive(cancelled) };
};

/** Returns the settings and the progress of a redrive. */
export const describeDeadLetterRedrive: Operation<"describeDeadLetterRedrive"> = async (request, { app, caller }) => ({
  redrive: toRedrive(
    await app.store.read((reader) => stored.getRedrive(reader, caller.accountId, request.redriveName)),
  ),
});

/** Lists the account's redrives by name. */
export const listDeadLetterRedrives: Operation<"listDeadLetterRedrives"> = async (request, context) => {
  const { app, caller } = context;
  const { state } = request;
  const page = app.pages.open(context, request, [String(state)]);
  const options = { namePrefix: "", after: page.after, limit: page.lookFor };
  const accepts = (redrive: DeadLetterRedriveRecord): boolean =>
    state === DeadLetterRedriveState.UNSPECIFIED || state === redrive.state;
  const found = await app.store.read((reader) => stored.listRedrives(reader, caller.accountId, options, accepts));
  const { items, nextToken } = page.cut(found, ({ name }) => name);
  return { deadLetterRedrives: items.map(toRedrive), nextToken };
};

const toRedrive = (redrive: DeadLetterRedriveRecord) => ({
  redriveName: redrive.name,
  state: redrive.state,
  filter: redrive.filter ?? {},
  maxLettersPerSecond: redrive.maxLettersPerSecond,
  letterCount: redrive.letterCount,
  redrivenCount: redrive.redrivenCount,
  failedCount: redrive.failedCount,
  failureReason: redrive.failureReason,
  startTime: instant(redrive.startedMs),
  endTime: instant(redrive.endedMs),
});
