import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import { DeadLetterPlaceSchema } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { JobHandler, JobPolicy, Jobs } from "../../kit/jobs/jobs.ts";
import { exponentialBackoff } from "../../kit/jobs/jobs.ts";
import { NamedKeyError } from "../../kit/keyring/key-names.ts";
import { sendMessage } from "../../kit/outgoing/queue-message.ts";
import type { ServiceClient, ServiceEndpoint } from "../../kit/outgoing/service-client.ts";
import type { Store } from "../../kit/store/store.ts";
import type { Transaction } from "../../kit/store/transaction.ts";
import type { Queue } from "../domain/dead-letter.ts";
import { withoutObject } from "../domain/dead-letter.ts";
import { idText } from "../domain/identifier.ts";
import type { DomainKeyring } from "../encryption/domain-keys.ts";
import { limits } from "../limits.ts";
import type { DeadLetter } from "../store/dead-letter.ts";
import { findDeadLetter, readDeadLetter, removeDeadLetter } from "../store/dead-letter.ts";
import { findDomainData } from "../store/domain.ts";

/** The kind of the jobs that send dead letters to the queues of their domains. */
export const deadLetterKind = "dead-letter";

/** The beginning of the owners of these jobs, one for each queue. */
const ownerPrefix = "dead-letters/";

/** The account of an owner of jobs that send dead letters; undefined: the jobs do something else. */
export const accountOfLetters = (owner: string): string | undefined =>
  owner.startsWith(ownerPrefix) ? owner.slice(ownerPrefix.length).split("/", 1)[0] : undefined;

/** A letter is tried until its queue accepts it, also while the queue does not exist or does not permit it. */
export const deadLetterPolicy: JobPolicy = {
  attemptsMax: Number.POSITIVE_INFINITY,
  ageMsMax: limits.deadLetterMsMax,
  backoff: exponentialBackoff({ firstMs: 1_000, maxMs: limits.deadLetterPauseMsMax }),
  onExhausted: (transaction, job) => {
    const { domainId, letterId } = fromBinary(DeadLetterPlaceSchema, job.payload);
    return removeDeadLetter(transaction, domainId, letterId, accountOfLetters(job.owner) ?? "");
  },
};

/** Enqueues the sending in the transaction that stores the letter. */
export const enqueueDeadLetter = (
  jobs: Jobs,
  transaction: Transaction,
  domainId: Uint8Array,
  letterId: Uint8Array,
  { account, name }: Queue,
): void => {
  jobs.enqueue(transaction, {
    kind: deadLetterKind,
    owner: `${ownerPrefix}${account}/${name}`,
    payload: toBinary(DeadLetterPlaceSchema, create(DeadLetterPlaceSchema, { domainId, letterId })),
  });
};

interface DeadLetterSender {
  readonly store: Store;
  readonly keyring: DomainKeyring;
  readonly client: ServiceClient;
  /** Where queues are reached. Unset: nowhere, so letters wait. */
  readonly endpoint: ServiceEndpoint | undefined;
}

/**
 * Sends a letter and removes it. It may be sent again, with the same id, if the process ends between the two. A letter
 * that was removed with its domain, or whose type was removed with its key, is not sent.
 */
export const deadLetterHandler =
  ({ store, keyring, client, endpoint }: DeadLetterSender): JobHandler =>
  async (job, { signal }) => {
    const { domainId, letterId } = fromBinary(DeadLetterPlaceSchema, job.payload);
    const found = await openLetter(store, keyring, domainId, letterId);
    const account = accountOfLetters(job.owner) ?? "";
    const apply = (transaction: Transaction) => removeDeadLetter(transaction, domainId, letterId, account);
    if (found === undefined) return { done: true, apply };
    if ("reason" in found) return { retry: true, reason: found.reason };
    if (endpoint === undefined) return { retry: true, reason: "no endpoint of queues is configured" };
    const send = (body: string) =>
      client.call(endpoint, "sqs", sendMessage(endpoint.url, found.queue, messageOf(found, letterId, body)), signal);
    const whole = await send(found.body);
    // A queue may accept fewer bytes than an object can have. Its letter then says which object it was.
    const isTooLong =
      whole.kind === "failed" &&
      !["NO_RESOURCE", "NO_PERMISSIONS"].includes(whole.code) &&
      Buffer.byteLength(found.body) > limits.deadLetterBytesSafe;
    const outcome = isTooLong ? await send(withoutObject(found.body)) : whole;
    if (outcome.kind === "delivered") return { done: true, apply };
    return { retry: true, reason: `${outcome.code}: ${outcome.message}` };
  };

/** The letter; why it cannot be read now; or undefined if it does not exist any more. */
const openLetter = (
  store: Store,
  keyring: DomainKeyring,
  domainId: Uint8Array,
  letterId: Uint8Array,
): Promise<DeadLetter | { readonly reason: string } | undefined> =>
  store.read(async (reader) => {
    try {
      const record = await findDeadLetter(reader, domainId, letterId);
      const domain = record && (await findDomainData(reader, keyring, domainId));
      return record && domain && (await readDeadLetter(reader, domain, letterId, record));
    } catch (error) {
      if (error instanceof NamedKeyError) return { reason: error.message };
      throw error;
    }
  });

/** The message of a letter. A queue that keeps the order keeps it for each object. */
const messageOf = ({ queue, objectKey, errorCode, errorMessage }: DeadLetter, letterId: Uint8Array, body: string) => ({
  body,
  attributes: { ERROR_CODE: errorCode, ERROR_MESSAGE: errorMessage },
  groupId: queue.name.endsWith(".fifo") ? (objectKey ?? idText(letterId)) : undefined,
  deduplicationId: idText(letterId),
});
