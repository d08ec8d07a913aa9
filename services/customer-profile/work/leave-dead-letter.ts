import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import { ServiceError } from "../../kit/faults/service-error.ts";
import type { Transaction } from "../../kit/store/transaction.ts";
import type { Application } from "../application.ts";
import type { Queue } from "../domain/dead-letter.ts";
import { letterBody, queueOf } from "../domain/dead-letter.ts";
import { idText } from "../domain/identifier.ts";
import { objectKeyOf } from "../ingestion/attach-object.ts";
import type { RequestedObject } from "../ingestion/requested-object.ts";
import { mapRequested } from "../ingestion/requested-object.ts";
import { limits } from "../limits.ts";
import { accountLetterCountOf } from "../store/account-letters.ts";
import { letterCountOf } from "../store/counters.ts";
import { putDeadLetter } from "../store/dead-letter.ts";
import type { OpenDomain } from "../store/domain.ts";
import { findSharedObjectType } from "../store/object-type.ts";
import { typeKeyOf } from "../store/object-type-key.ts";
import { enqueueDeadLetter } from "./dead-letter-job.ts";

type LetterApplication = Pick<Application, "jobs">;

/** The refusals that depend on the profile of an object: the object itself is valid. */
const placeless = new Set<number>([
  ErrorReason.OBJECT_MATCHES_NO_PROFILE,
  ErrorReason.TOO_MANY_OBJECTS,
  ErrorReason.OBJECTS_TOO_LARGE,
  ErrorReason.PROFILE_TOO_LARGE,
]);

/** True if an object was refused because it found no place in a profile. */
export const isPlaceless = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && placeless.has(error.facts.number);

/**
 * The queue that a domain's dead letters are sent to. Undefined: it names none, queues are not reached, or so many
 * letters of the domain or of its account wait already that no more are accepted.
 */
export const findQueue = async (
  { reachesQueues }: Pick<Application, "reachesQueues">,
  transaction: Transaction,
  { id, record }: OpenDomain,
): Promise<Queue | undefined> => {
  const queue = reachesQueues ? queueOf(record.deadLetterQueueUrl) : undefined;
  if (queue === undefined) return undefined;
  // The counts are not checked at the commit, so that letters do not wait for each other; a few more may be accepted.
  const isFull =
    (await letterCountOf(transaction.snapshot, id)) >= limits.waitingLettersMax ||
    (await accountLetterCountOf(transaction.snapshot, queue.account)) >= limits.waitingLettersPerAccountMax;
  return isFull ? undefined : queue;
};

/** An object that is to be sent to a queue, and why. */
interface PlacelessObject {
  readonly domainName: string;
  readonly requested: RequestedObject;
  readonly letterId: Uint8Array;
  readonly error: ServiceError;
}

/** Leaves the letter of an object that found no place; returns its identifier. Throws what `mapRequested` throws. */
export const leaveLetterOf = async (
  app: LetterApplication,
  transaction: Transaction,
  domain: OpenDomain,
  queue: Queue,
  { domainName, requested, letterId, error }: PlacelessObject,
): Promise<Uint8Array> => {
  const { type, unique } = await mapRequested(transaction, domain, requested);
  const objectKey = objectKeyOf(domain, type, unique);
  await leaveLetter(app, transaction, domain, queue, {
    letterId,
    domainName,
    objectTypeName: requested.objectTypeName,
    objectKey,
    text: requested.text,
    errorCode: error.facts.reason,
    errorMessage: error.message,
    failedMs: requested.nowMs,
  });
  return objectKey;
};

/** A text that is to be sent to a queue, and why. */
export interface RefusedText {
  readonly letterId: Uint8Array;
  readonly domainName: string;
  readonly objectTypeName: string;
  /** Undefined: the text is a record of a flow, which has none. */
  readonly objectKey: Uint8Array | undefined;
  readonly text: string;
  readonly errorCode: string;
  readonly errorMessage: string;
  readonly failedMs: number;
}

/** Stores a letter, sealed under the key of the type as well where it has one, and enqueues its sending. */
export const leaveLetter = async (
  app: LetterApplication,
  transaction: Transaction,
  domain: OpenDomain,
  queue: Queue,
  refused: RefusedText,
): Promise<void> => {
  const { letterId, errorCode, errorMessage, objectTypeName } = refused;
  const type = await findSharedObjectType(transaction, domain.id, objectTypeName);
  const typeKey = type && (await typeKeyOf(transaction, domain, type));
  const objectKey = refused.objectKey && idText(refused.objectKey);
  const body = letterBody({ ...refused, letterId: idText(letterId), objectKey, object: refused.text });
  const letter = { queue, body, errorCode, errorMessage, objectKey };
  putDeadLetter(transaction, domain, letterId, letter, type && typeKey && { typeId: type.typeId, typeKey });
  enqueueDeadLetter(app.jobs, transaction, domain.id, letterId, queue);
};
