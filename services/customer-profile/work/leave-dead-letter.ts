import type { KeyObject } from "node:crypto";

import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import { ServiceError } from "../../kit/faults/service-error.ts";
import type { Transaction } from "../../kit/store/transaction.ts";
import type { Application } from "../application.ts";
import type { Queue } from "../domain/dead-letter.ts";
import { letterBody, queueOf } from "../domain/dead-letter.ts";
import { idText } from "../domain/identifier.ts";
import { putDeadLetter } from "../store/dead-letter.ts";
import type { OpenDomain } from "../store/domain.ts";
import { enqueueDeadLetter } from "./dead-letter-job.ts";

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

/** The queue that a domain's dead letters are sent to; undefined: it names none, or queues are not reached. */
export const findQueue = ({ reachesQueues }: Application, { record }: OpenDomain): Queue | undefined =>
  reachesQueues ? queueOf(record.deadLetterQueueUrl) : undefined;

/** An object that is to be sent to a queue, and why. */
interface PlacelessObject {
  readonly letterId: Uint8Array;
  readonly domainName: string;
  readonly objectTypeName: string;
  readonly typeId: Uint8Array;
  /** The key of the type's objects. Undefined: it has none. */
  readonly typeKey: KeyObject | undefined;
  readonly objectKey: Uint8Array;
  /** JSON text as in the request. */
  readonly object: string;
  readonly error: ServiceError;
  readonly failedMs: number;
}

/** Stores the letter of an object, and enqueues its sending. */
export const leaveDeadLetter = (
  app: Application,
  transaction: Transaction,
  domain: OpenDomain,
  queue: Queue,
  placelessObject: PlacelessObject,
): void => {
  const { letterId, error, typeId, typeKey } = placelessObject;
  const objectKey = idText(placelessObject.objectKey);
  const errorCode = error.facts.reason;
  const errorMessage = error.message;
  const body = letterBody({ ...placelessObject, letterId: idText(letterId), objectKey, errorCode, errorMessage });
  const letter = { queue, body, errorCode, errorMessage, objectKey };
  putDeadLetter(transaction, domain, letterId, letter, typeKey && { typeId, typeKey });
  enqueueDeadLetter(app.jobs, transaction, domain.id, letterId, queue);
};
