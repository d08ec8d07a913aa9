import type { KeyObject } from "node:crypto";

import type { DeadLetterRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { seal, unseal } from "../../kit/keyring/sealed.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import type { Queue } from "../domain/dead-letter.ts";
import { jointKey } from "../encryption/domain-keys.ts";
import { countAccountLetters } from "./account-letters.ts";
import { countLetter } from "./counters.ts";
import type { DomainData } from "./domain.ts";
import { deadLetters } from "./layout.ts";
import { findTypeKey } from "./object-type-key.ts";

/** A message that waits to be sent to a queue. */
export interface DeadLetter {
  readonly queue: Queue;
  readonly body: string;
  readonly errorCode: string;
  readonly errorMessage: string;
  /** Undefined: the letter is of a record of a flow. */
  readonly objectKey: string | undefined;
}

/** The type whose key seals a letter as well as the domain's. */
interface SealingType {
  readonly typeId: Uint8Array;
  readonly typeKey: KeyObject;
}

/** Stores a letter, and counts it. */
export const putDeadLetter = (
  transaction: Transaction,
  domain: DomainData,
  letterId: Uint8Array,
  { queue, body, errorCode, errorMessage, objectKey }: DeadLetter,
  type: SealingType | undefined,
): void => {
  const key = contentKey(domain, type?.typeKey);
  transaction.put(deadLetters, [domain.id, letterId], {
    content: seal(key, associatedData(domain.id, letterId), Buffer.from(body, "utf8")),
    ...(type && { typeId: type.typeId }),
    queueAccount: queue.account,
    queueName: queue.name,
    errorCode,
    errorMessage,
    objectKey: objectKey ?? "",
  });
  countLetter(transaction, domain.id, queue.account, 1);
};

/** The record of a letter; undefined if it does not exist. */
export const findDeadLetter = (
  reader: Reader,
  domainId: Uint8Array,
  letterId: Uint8Array,
): Promise<DeadLetterRecord | undefined> => reader.get(deadLetters, [domainId, letterId]);

/** The letter of a record; undefined if its type was removed, and its key with it. Throws NamedKeyError. */
export const readDeadLetter = async (
  reader: Reader,
  domain: DomainData,
  letterId: Uint8Array,
  record: DeadLetterRecord,
): Promise<DeadLetter | undefined> => {
  const isUnderTypeKey = record.typeId.byteLength > 0;
  const typeKey = isUnderTypeKey ? await findTypeKey(reader, domain, record.typeId) : undefined;
  if (isUnderTypeKey && typeKey === undefined) return undefined;
  const body = unseal(contentKey(domain, typeKey), associatedData(domain.id, letterId), record.content);
  return {
    queue: { account: record.queueAccount, name: record.queueName },
    body: body.toString("utf8"),
    errorCode: record.errorCode,
    errorMessage: record.errorMessage,
    objectKey: record.objectKey === "" ? undefined : record.objectKey,
  };
};

/** Removes a letter of an account, if it exists: with its domain it was removed before. */
export const removeDeadLetter = async (
  transaction: Transaction,
  domainId: Uint8Array,
  letterId: Uint8Array,
  account: string,
): Promise<void> => {
  const range = { from: [domainId, letterId], through: [domainId, letterId] } as const;
  for await (const { key } of walkTable(transaction, deadLetters, range)) {
    transaction.delete(deadLetters, key);
    countLetter(transaction, domainId, account, -1);
  }
};

/** Removes the first letters of a deleted domain, damaged ones as well; returns how many. */
export const removeDeadLetters = async (
  transaction: Transaction,
  domainId: Uint8Array,
  account: string,
  limit: number,
): Promise<number> => {
  let count = 0;
  for await (const { key, value } of walkTable(transaction, deadLetters, { prefix: [domainId], limit })) {
    transaction.delete(deadLetters, key);
    countAccountLetters(transaction, value?.queueAccount ?? account, -1);
    count += 1;
  }
  return count;
};

const contentKey = ({ keys }: DomainData, typeKey: KeyObject | undefined): KeyObject =>
  typeKey === undefined ? keys.letterKey : jointKey(keys.letterKey, typeKey);

const associatedData = (domainId: Uint8Array, letterId: Uint8Array) => ["dead-letter", domainId, letterId];
