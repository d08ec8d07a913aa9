import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";

import type { ClientTokenRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { clientTokens, clientTokensByExpiry } from "./layout.ts";

/** Whose token it is: account, operation, token. */
export type ClientTokenKey = readonly [account: string, operation: string, token: string];

/** What is remembered of the first call with a token. */
export interface FirstAnswer {
  readonly requestDigest: Uint8Array;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly answer: Uint8Array;
}

/** What a token's first call got; undefined when there was none or it is forgotten. */
export const findFirstAnswer = async (
  reader: Reader,
  key: ClientTokenKey,
  nowMs: number,
): Promise<ClientTokenRecord | undefined> => {
  const record = await reader.get(clientTokens, key);
  return record !== undefined && expiryMsOf(record) > nowMs ? record : undefined;
};

/** Remembers a token's first answer until the instant, in place of a forgotten one. */
export const putFirstAnswer = async (
  transaction: Transaction,
  key: ClientTokenKey,
  first: FirstAnswer,
  expiresMs: number,
): Promise<void> => {
  const forgotten = await transaction.get(clientTokens, key);
  if (forgotten !== undefined) transaction.delete(clientTokensByExpiry, [expiryMsOf(forgotten), ...key]);
  transaction.put(clientTokens, key, { ...first, expiresTime: timestampFromMs(expiresMs) });
  transaction.put(clientTokensByExpiry, [expiresMs, ...key], {});
};

/** Deletes tokens whose time is over, oldest first, at most `limit`; answers how many. */
export const sweepClientTokens = async (transaction: Transaction, nowMs: number, limit: number): Promise<number> => {
  const due = await transaction.list(clientTokensByExpiry, { through: [nowMs], limit });
  for (const { key } of due) {
    const [, account, operation, token] = key;
    transaction.delete(clientTokensByExpiry, key);
    transaction.delete(clientTokens, [account, operation, token]);
  }
  return due.length;
};

const expiryMsOf = (record: ClientTokenRecord): number =>
  record.expiresTime === undefined ? 0 : timestampMs(record.expiresTime);
