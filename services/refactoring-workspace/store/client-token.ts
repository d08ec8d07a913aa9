import { createHash } from "node:crypto";

import type { DescMessage, DescMethod, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type { ClientTokenRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import type { ResourceType } from "../domain/resource-name.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import { clientTokens, clientTokensByExpiry } from "./layout.ts";

/** The call that creates something. */
export interface CreationCall {
  readonly accountId: string;
  readonly method: DescMethod;
  readonly nowMs: number;
}

/** The result of a creation. */
export interface Created<S extends DescMessage> {
  readonly resourceId: string;
  readonly answer: MessageInitShape<S>;
}

type CreationRequest = MessageShape<DescMessage> & {
  readonly clientToken?: string;
  readonly tags: Record<string, string>;
};

/**
 * Creates something once for each client token: the first call creates it and stores its answer, later calls with the
 * same request return that answer. Throws CLIENT_TOKEN_REUSED for another request. Without a token every call creates.
 */
export const idempotently = async <S extends DescMessage>(
  transaction: Transaction,
  call: CreationCall,
  request: CreationRequest,
  kind: { readonly resourceType: ResourceType; readonly response: S },
  creation: () => Promise<Created<S>>,
): Promise<MessageInitShape<S>> => {
  if (request.clientToken === undefined) return (await creation()).answer;
  const key: ClientTokenKey = [call.accountId, call.method.name, request.clientToken];
  const requestDigest = digestOf(call.method.input, request);
  const first = await findFirstAnswer(transaction, key, call.nowMs);
  if (first !== undefined) {
    if (!requestDigest.equals(first.requestDigest))
      throw fault(ErrorReason.CLIENT_TOKEN_REUSED, {
        resource_type: first.resourceType,
        resource_id: first.resourceId,
      });
    return fromBinary(kind.response, first.answer);
  }
  const { resourceId, answer } = await creation();
  const bytes = toBinary(kind.response, create(kind.response, answer));
  const { resourceType } = kind;
  const expiresMs = call.nowMs + limits.clientTokenLifetimeMs;
  await putFirstAnswer(transaction, key, { requestDigest, resourceType, resourceId, answer: bytes }, expiresMs);
  return answer;
};

/** Deletes expired tokens, oldest first, at most `limit`; returns how many. */
export const sweepClientTokens = async (transaction: Transaction, nowMs: number, limit: number): Promise<number> => {
  const due = await Array.fromAsync(walkTable(transaction, clientTokensByExpiry, { through: [nowMs], limit }));
  for (const { key } of due) {
    const [, account, operation, token] = key;
    transaction.delete(clientTokensByExpiry, key);
    transaction.delete(clientTokens, [account, operation, token]);
  }
  return due.length;
};

type ClientTokenKey = readonly [account: string, operation: string, token: string];

/** The answer to a token's first call; undefined if there was none or it has expired. */
const findFirstAnswer = async (
  reader: Reader,
  key: ClientTokenKey,
  nowMs: number,
): Promise<ClientTokenRecord | undefined> => {
  const record = await reader.get(clientTokens, key);
  return record !== undefined && Number(record.expiresMs) > nowMs ? record : undefined;
};

/** Stores a token's first answer until the instant; replaces an expired one. */
const putFirstAnswer = async (
  transaction: Transaction,
  key: ClientTokenKey,
  first: Pick<ClientTokenRecord, "requestDigest" | "resourceType" | "resourceId" | "answer">,
  expiresMs: number,
): Promise<void> => {
  const expired = await transaction.get(clientTokens, key);
  if (expired !== undefined) transaction.delete(clientTokensByExpiry, [Number(expired.expiresMs), ...key]);
  transaction.put(clientTokens, key, { ...first, expiresMs: BigInt(expiresMs) });
  transaction.put(clientTokensByExpiry, [expiresMs, ...key], {});
};

/** SHA-256 of a request without its token; the order of its tags does not matter. */
const digestOf = (schema: DescMessage, request: CreationRequest): Buffer => {
  const tags = Object.fromEntries(Object.entries(request.tags).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const plain = { ...request, clientToken: undefined, tags, $unknown: undefined } as MessageShape<DescMessage>;
  return createHash("sha256").update(toBinary(schema, plain)).digest();
};
