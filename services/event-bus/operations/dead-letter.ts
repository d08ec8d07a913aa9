/**
 * Dead letters. ListDeadLetters and ListDeadLetterGroups fail only for an invalid page token. RedriveDeadLetters skips
 * ids that do not exist; a dead letter is deleted in the transaction that begins its new delivery.
 */
import { NamedKeyError } from "../../kit/keyring/key-names.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { Application, Operation } from "../application.ts";
import { eventJson } from "../domain/envelope.ts";
import { instant } from "../domain/instant.ts";
import { redriveDeadLetter } from "../ingestion/redrive.ts";
import type { DeadLetter } from "../store/dead-letter.ts";
import * as stored from "../store/dead-letter.ts";
import { listGroups, listLettersOfGroup } from "../store/dead-letter-group.ts";

/** Lists the account's dead letters, the latest first. A page also ends at the limit of its bytes. */
export const listDeadLetters: Operation<"listDeadLetters"> = async (request, context) => {
  const { app, caller } = context;
  const { ruleArn, groupId } = request;
  const page = app.pages.open(context, request, [ruleArn, groupId]);
  const found = await app.store.read(async (reader) => {
    const letters =
      groupId === undefined
        ? await stored.listDeadLetters(
            reader,
            caller.accountId,
            { after: page.after, limit: page.lookFor },
            (letter) => ruleArn === undefined || ruleArn === letter.ruleArn,
          )
        : await listLettersOfGroup(reader, caller.accountId, groupId, { before: page.after, limit: page.lookFor });
    const shown = [];
    for (const each of letters.filter(({ letter }) => (ruleArn ?? letter.ruleArn) === letter.ruleArn))
      shown.push({ place: stored.placeOf(each), shown: await toDeadLetter(app, reader, caller.accountId, each) });
    return shown;
  });
  const { items, nextToken } = page.cut(
    found,
    ({ place, shown }) => (groupId === undefined ? shown.id : place),
    ({ shown }) => Buffer.byteLength(shown.event),
  );
  return { deadLetters: items.map(({ shown }) => shown), nextToken };
};

/** Lists the groups of the account's dead letters with the last letter of each. */
export const listDeadLetterGroups: Operation<"listDeadLetterGroups"> = async (request, context) => {
  const { app, caller } = context;
  const { ruleArn, targetArn } = request;
  const page = app.pages.open(context, request, [ruleArn, targetArn]);
  const filter = { ...(ruleArn !== undefined && { ruleArn }), ...(targetArn !== undefined && { targetArn }) };
  const found = await app.store.read(async (reader) => {
    const groups = await listGroups(reader, caller.accountId, filter, { after: page.after, limit: page.lookFor });
    const shown = [];
    for (const { id, group, count, firstMs, last } of groups)
      shown.push({
        groupId: id,
        ruleArn: group.ruleArn,
        targetArn: group.targetArn,
        errorCode: group.errorCode,
        cause: group.cause,
        letterCount: BigInt(count),
        firstFailureTime: instant(BigInt(firstMs)),
        lastFailureTime: instant(BigInt(last.failedMs)),
        sample: await toDeadLetter(app, reader, caller.accountId, last),
      });
    return shown;
  });
  const { items, nextToken } = page.cut(
    found,
    ({ groupId }) => groupId,
    ({ sample }) => Buffer.byteLength(sample.event),
  );
  return { deadLetterGroups: items, nextToken };
};

/** The event of a letter as JSON; empty while it cannot be read. */
const eventOf = async (
  { sealing }: Application,
  reader: Reader,
  account: string,
  { letter: { event } }: DeadLetter,
): Promise<string> => {
  if (event === undefined) return "";
  try {
    return eventJson(await sealing.open(reader, account, event));
  } catch (error) {
    if (error instanceof NamedKeyError) return "";
    throw error;
  }
};

/** Delivers dead letters again, or puts events that failed on their bus there again, and deletes them. */
export const redriveDeadLetters: Operation<"redriveDeadLetters"> = async (request, { app, caller }) => {
  const redrivenCount = await app.store.transact(async (transaction) => {
    let count = 0;
    for (const id of new Set(request.ids)) {
      const { kind } = await redriveDeadLetter(app, transaction, caller.accountId, id);
      if (kind === "too-large") throw new Error(`the deliveries of dead letter ${id} are too large`);
      if (kind === "redriven") count += 1;
    }
    return count;
  });
  return { redrivenCount };
};

const toDeadLetter = async (app: Application, reader: Reader, account: string, each: DeadLetter) => {
  const { id, failedMs, letter } = each;
  return {
    id,
    event: await eventOf(app, reader, account, each),
    ruleArn: letter.ruleArn,
    targetArn: letter.targetArn,
    errorCode: letter.errorCode,
    errorMessage: letter.errorMessage,
    exhaustedRetryCondition: letter.exhaustedRetryCondition,
    retryAttempts: letter.retryAttempts,
    queueArn: letter.queueArn,
    failureTime: instant(BigInt(failedMs)),
    groupId: letter.groupId,
  };
};
