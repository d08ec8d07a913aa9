/**
 * Dead letters. ListDeadLetters fails only for an invalid page token. RedriveDeadLetters skips ids that do not exist; a
 * dead letter is deleted in the transaction that begins its new delivery.
 */
import type { Operation } from "../application.ts";
import { eventJson } from "../domain/envelope.ts";
import { instant } from "../domain/instant.ts";
import { deliverToRule } from "../ingestion/ingest.ts";
import type { DeadLetter } from "../store/dead-letter.ts";
import * as stored from "../store/dead-letter.ts";

/** Lists the account's dead letters, the latest first. A page also ends at the limit of its bytes. */
export const listDeadLetters: Operation<"listDeadLetters"> = async (request, context) => {
  const { app, caller } = context;
  const page = app.pages.open(context, request, [request.ruleArn]);
  const found = await app.store.read((reader) =>
    stored.listDeadLetters(
      reader,
      caller.accountId,
      { after: page.after, limit: page.lookFor },
      ({ ruleArn }) => request.ruleArn === undefined || ruleArn === request.ruleArn,
    ),
  );
  const { items, nextToken } = page.cut(
    found.map(toDeadLetter),
    ({ id }) => id,
    ({ event }) => Buffer.byteLength(event),
  );
  return { deadLetters: items, nextToken };
};

/** Delivers dead letters again and deletes them. */
export const redriveDeadLetters: Operation<"redriveDeadLetters"> = async (request, { app, caller }) => {
  const { accountId: account } = caller;
  const redrivenCount = await app.store.transact(async (transaction) => {
    let count = 0;
    for (const id of new Set(request.ids)) {
      const letter = await stored.removeDeadLetter(transaction, account, id);
      if (letter?.event === undefined || letter.target === undefined) continue;
      const { bus, rule, ruleRoleArn, event, target } = letter;
      const redelivery = { event, rule, ruleRoleArn, targets: [target] };
      if (deliverToRule(app, transaction, { account, name: bus }, redelivery).kind === "too-large")
        throw new Error(`the only delivery of event ${event.id} is too large`);
      count += 1;
    }
    return count;
  });
  return { redrivenCount };
};

const toDeadLetter = ({ id, failedMs, letter }: DeadLetter) => ({
  id,
  event: letter.event === undefined ? "" : eventJson(letter.event),
  ruleArn: letter.ruleArn,
  targetArn: letter.targetArn,
  errorCode: letter.errorCode,
  errorMessage: letter.errorMessage,
  exhaustedRetryCondition: letter.exhaustedRetryCondition,
  retryAttempts: letter.retryAttempts,
  queueArn: letter.queueArn,
  failureTime: instant(BigInt(failedMs)),
});
