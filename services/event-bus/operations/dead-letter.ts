/**
 * Dead letters. ListDeadLetters fails only for an invalid page token. RedriveDeadLetters skips ids that do not exist; a
 * dead letter is deleted in the transaction that begins its new delivery.
 */
import type { DeadLetterRecord, EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { NamedKeyError } from "../../kit/keyring/key-names.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import type { Application, Operation } from "../application.ts";
import { eventJson } from "../domain/envelope.ts";
import { instant } from "../domain/instant.ts";
import { deliverToRule, ingestEvent, openBus } from "../ingestion/ingest.ts";
import type { DeadLetter } from "../store/dead-letter.ts";
import * as stored from "../store/dead-letter.ts";

/** Lists the account's dead letters, the latest first. A page also ends at the limit of its bytes. */
export const listDeadLetters: Operation<"listDeadLetters"> = async (request, context) => {
  const { app, caller } = context;
  const page = app.pages.open(context, request, [request.ruleArn]);
  const found = await app.store.read(async (reader) => {
    const letters = await stored.listDeadLetters(
      reader,
      caller.accountId,
      { after: page.after, limit: page.lookFor },
      ({ ruleArn }) => request.ruleArn === undefined || ruleArn === request.ruleArn,
    );
    const shown = [];
    for (const each of letters) shown.push(toDeadLetter(each, await eventOf(app, reader, caller.accountId, each)));
    return shown;
  });
  const { items, nextToken } = page.cut(
    found,
    ({ id }) => id,
    ({ event }) => Buffer.byteLength(event),
  );
  return { deadLetters: items, nextToken };
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
  const { accountId: account } = caller;
  const redrivenCount = await app.store.transact(async (transaction) => {
    let count = 0;
    for (const id of new Set(request.ids)) {
      const letter = await stored.removeDeadLetter(transaction, account, id);
      if (letter?.event === undefined) continue;
      if ((await redrive(app, transaction, account, letter, letter.event)) === "too-large")
        throw new Error(`the deliveries of event ${letter.event.id} are too large`);
      count += 1;
    }
    return count;
  });
  return { redrivenCount };
};

const redrive = async (
  app: Application,
  transaction: Transaction,
  account: string,
  { bus: name, rule, ruleRoleArn, target }: DeadLetterRecord,
  event: EventRecord,
) => {
  const bus = { account, name };
  if (target !== undefined)
    return deliverToRule(app, transaction, bus, { event, rule, ruleRoleArn, targets: [target] }).kind;
  const opened = await app.sealing.open(transaction, account, event);
  return ingestEvent(app, transaction, await openBus(app, transaction, bus), opened).kind;
};

const toDeadLetter = ({ id, failedMs, letter }: DeadLetter, event: string) => ({
  id,
  event,
  ruleArn: letter.ruleArn,
  targetArn: letter.targetArn,
  errorCode: letter.errorCode,
  errorMessage: letter.errorMessage,
  exhaustedRetryCondition: letter.exhaustedRetryCondition,
  retryAttempts: letter.retryAttempts,
  queueArn: letter.queueArn,
  failureTime: instant(BigInt(failedMs)),
});
