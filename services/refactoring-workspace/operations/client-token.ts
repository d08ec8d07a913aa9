import { createHash } from "node:crypto";

import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Transaction } from "../../kit/store/transaction.ts";
import type { Application } from "../application.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import type { ClientTokenKey } from "../store/client-token.ts";
import { findFirstAnswer, putFirstAnswer } from "../store/client-token.ts";
import type { ResourceType } from "./checks.ts";

/** What a creation made. */
export interface Made<S extends DescMessage> {
  readonly resourceId: string;
  readonly answer: MessageInitShape<S>;
}

type CreateRequest = MessageShape<DescMessage> & {
  readonly clientToken?: string;
  readonly tags: Record<string, string>;
};

/**
 * Creates something once for each client token: the first call makes it and remembers its answer, later ones with the
 * same request get that answer. Throws CLIENT_TOKEN_REUSED for another request. Without a token every call makes one.
 */
export const onceByToken = async <S extends DescMessage>(
  transaction: Transaction,
  context: CallContext<Application>,
  request: CreateRequest,
  kind: { readonly resourceType: ResourceType; readonly response: S },
  make: () => Promise<Made<S>>,
): Promise<MessageInitShape<S>> => {
  if (request.clientToken === undefined) return (await make()).answer;
  const nowMs = context.app.clock.now();
  const key: ClientTokenKey = [context.caller.accountId, context.method.name, request.clientToken];
  const requestDigest = digestOf(context.method.input, request);
  const first = await findFirstAnswer(transaction, key, nowMs);
  if (first !== undefined) {
    if (!requestDigest.equals(first.requestDigest))
      throw fault(ErrorReason.CLIENT_TOKEN_REUSED, {
        resource_type: first.resourceType,
        resource_id: first.resourceId,
      });
    return fromBinary(kind.response, first.answer);
  }
  const { resourceId, answer } = await make();
  const bytes = toBinary(kind.response, create(kind.response, answer));
  const remembered = { requestDigest, resourceType: kind.resourceType, resourceId, answer: bytes };
  await putFirstAnswer(transaction, key, remembered, nowMs + limits.clientTokenLifetimeMs);
  return answer;
};

/** SHA-256 of a request without its token, the same whatever the order of its tags. */
const digestOf = (schema: DescMessage, request: CreateRequest): Buffer => {
  const tags = Object.fromEntries(Object.entries(request.tags).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const plain = { ...request, clientToken: undefined, tags, $unknown: undefined } as MessageShape<DescMessage>;
  return createHash("sha256").update(toBinary(schema, plain)).digest();
};
