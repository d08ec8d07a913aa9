import type { DeadLetterRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { seal, unseal } from "../../kit/keyring/sealed.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import type { Queue } from "../domain/dead-letter.ts";
import type { DomainData } from "./domain.ts";
import { deadLetters } from "./layout.ts";

/** A message that waits to be sent to a queue. */
export interface DeadLetter {
  readonly queue: Queue;
  readonly body: string;
  readonly errorCode: string;
  readonly errorMessage: string;
  readonly objectKey: string;
}

/** Stores a letter. */
export const putDeadLetter = (
  transaction: Transaction,
  domain: DomainData,
  letterId: Uint8Array,
  { queue, body, errorCode, errorMessage, objectKey }: DeadLetter,
): void =>
  transaction.put(deadLetters, [domain.id, letterId], {
    content: seal(domain.keys.letterKey, associatedData(domain.id, letterId), Buffer.from(body, "utf8")),
    queueAccount: queue.account,
    queueName: queue.name,
    errorCode,
    errorMessage,
    objectKey,
  });

/** The record of a letter; undefined if it does not exist. */
export const findDeadLetter = (
  reader: Reader,
  domainId: Uint8Array,
  letterId: Uint8Array,
): Promise<DeadLetterRecord | undefined> => reader.get(deadLetters, [domainId, letterId]);

/** The letter of a record. */
export const readDeadLetter = (domain: DomainData, letterId: Uint8Array, record: DeadLetterRecord): DeadLetter => ({
  queue: { account: record.queueAccount, name: record.queueName },
  body: unseal(domain.keys.letterKey, associatedData(domain.id, letterId), record.content).toString("utf8"),
  errorCode: record.errorCode,
  errorMessage: record.errorMessage,
  objectKey: record.objectKey,
});

/** Removes a letter, if it exists. */
export const removeDeadLetter = (transaction: Transaction, domainId: Uint8Array, letterId: Uint8Array): void =>
  transaction.delete(deadLetters, [domainId, letterId]);

const associatedData = (domainId: Uint8Array, letterId: Uint8Array) => ["dead-letter", domainId, letterId];
