import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type { DeadLetterRecord, EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { DeadLetterPlaceRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import type { JobHandler, JobPolicy } from "../../kit/jobs/jobs.ts";
import { exponentialBackoff } from "../../kit/jobs/jobs.ts";
import { NamedKeyError } from "../../kit/keyring/key-names.ts";
import { sendMessage } from "../../kit/outgoing/queue-message.ts";
import type { ServiceClient, ServiceEndpoint } from "../../kit/outgoing/service-client.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import { deliveryOwner } from "../domain/delivery-owner.ts";
import { eventJson } from "../domain/envelope.ts";
import type { NewDeadLetter } from "../store/dead-letter.ts";
import { findDeadLetter, letterEpoch, putDeadLetter } from "../store/dead-letter.ts";
import type { Circuits } from "./circuits.ts";

/** The kind of the jobs that send dead letters to the queues that their targets name. */
export const deadLetterKind = "dead-letter";

/** A queue is tried for a day. A letter that it does not accept stays in the service's own store only. */
export const deadLetterPolicy: JobPolicy = {
  attemptsMax: 200,
  ageMsMax: 24 * 3_600_000,
  backoff: exponentialBackoff({ firstMs: 1_000, maxMs: 600_000 }),
};

/** Stores a dead letter, which is also sent to the queue that it names if queues are reached. */
export const leaveDeadLetter = async (
  app: Pick<Application, "clock" | "ids" | "jobs" | "reachesQueues">,
  transaction: Transaction,
  account: string,
  letter: NewDeadLetter,
): Promise<void> => {
  const failedMs = app.clock.now();
  const epoch = await letterEpoch(transaction, account, failedMs);
  const random = app.ids.uuid();
  putDeadLetter(transaction, account, { failedMs, random, epoch }, letter);
  if (!app.reachesQueues || letter.queueArn === undefined) return;
  const record = create(DeadLetterPlaceRecordSchema, { account, failedMs: BigInt(failedMs), random });
  const payload = toBinary(DeadLetterPlaceRecordSchema, record);
  app.jobs.enqueue(transaction, { kind: deadLetterKind, owner: deliveryOwner(account, letter.queueArn), payload });
};

/** Sends a dead letter: the event with the documented attributes. A letter that was redriven meanwhile is not sent. */
export const deadLetterHandler =
  (
    app: Pick<Application, "store" | "sealing">,
    endpoint: ServiceEndpoint | undefined,
    client: ServiceClient,
    circuits: Pick<Circuits, "succeeded" | "failed">,
  ): JobHandler =>
  async (job, { signal }) => {
    const { account, failedMs, random } = fromBinary(DeadLetterPlaceRecordSchema, job.payload);
    const letter = await app.store.read((reader) => findDeadLetter(reader, account, Number(failedMs), random));
    const queue = parseArn(letter?.queueArn ?? "");
    if (letter?.event === undefined || queue === undefined || endpoint === undefined) return { done: true };
    const opened = await openEvent(app, account, letter.event);
    if ("reason" in opened) return { retry: true, reason: opened.reason };
    const message = { body: eventJson(opened.event), attributes: attributesOf(letter) };
    const request = sendMessage(endpoint.url, { account: queue.account, name: queue.resource }, message);
    const outcome = await client.call(endpoint, "sqs", request, signal);
    if (outcome.kind === "retry") {
      circuits.failed(job.owner, undefined);
      return { retry: true, reason: `${outcome.code}: ${outcome.message}` };
    }
    circuits.succeeded(job.owner);
    if (outcome.kind === "delivered") return { done: true };
    return { failed: true, reason: `${outcome.code}: ${outcome.message}` };
  };

/** The event of a letter, or why it cannot be read now. */
const openEvent = async (
  { store, sealing }: Pick<Application, "store" | "sealing">,
  account: string,
  event: EventRecord,
): Promise<{ readonly event: EventRecord } | { readonly reason: string }> => {
  try {
    return { event: await store.read((reader) => sealing.open(reader, account, event)) };
  } catch (error) {
    if (error instanceof NamedKeyError) return { reason: error.message };
    throw error;
  }
};

const attributesOf = (letter: DeadLetterRecord): Readonly<Record<string, string | number>> => {
  const named: readonly (readonly [name: string, value: string | number | undefined])[] = [
    ["RULE_ARN", letter.ruleArn],
    ["TARGET_ARN", letter.targetArn],
    ["ERROR_CODE", letter.errorCode],
    ["ERROR_MESSAGE", letter.errorMessage],
    ["EXHAUSTED_RETRY_CONDITION", letter.exhaustedRetryCondition],
    ["RETRY_ATTEMPTS", letter.retryAttempts],
  ];
  return Object.fromEntries(
    named.flatMap(([name, value]) => (value === undefined || value === "" ? [] : [[name, value] as const])),
  );
};
