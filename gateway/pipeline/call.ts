import type { DescMethodStreaming, DescMethodUnary, Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";

import type { Caller } from "../../services/kit/identity/caller.ts";
import type { HttpExchange } from "./exchange.ts";
import type { Gateway } from "../gateway.ts";
import type { RequestHead } from "../http/request-head.ts";
import type { Answer, BoundCall, Identity } from "./stages.ts";

/** On whose behalf a service is called, and the request that asked for it. */
export interface CallOrigin {
  readonly caller: Caller;
  /** Lower case; only these are forwarded. */
  readonly signedHeaders: readonly string[];
  readonly head: RequestHead;
  readonly identity: Identity;
}

/**
 * Calls the service with a token of the caller. The call is cancelled when the client goes away. Rejects with the
 * ConnectError of the service, or with what reading the request's body threw, which is the cause of the failed call.
 */
export const call = async (
  gateway: Gateway,
  exchange: HttpExchange,
  bound: BoundCall,
  origin: CallOrigin,
): Promise<Answer> => {
  const header = await callHeaders(gateway, exchange, bound, origin);
  const { transport } = bound.binding;
  const { desc } = bound.method;
  if (desc.methodKind === "unary") {
    const timeoutMs = bound.method.http?.hasEarlyStatus === true ? undefined : gateway.limits.callTimeoutMs;
    const method = desc as DescMethodUnary;
    const response = await transport.unary(method, exchange.signal, timeoutMs, header, bound.message);
    return { message: response.message, more: undefined };
  }

  let bodyFailure: unknown;
  const noteFailure = (thrown: unknown): void => {
    bodyFailure ??= thrown;
  };
  try {
    const messages = requestMessages(bound, noteFailure);
    const method = desc as DescMethodStreaming;
    const response = await transport.stream(method, exchange.signal, undefined, header, messages);
    const answers = response.message[Symbol.asyncIterator]();
    const first = await firstAnswer(answers, response.header);
    if (first.done === true) throw new Error(`${desc.name} answered without a message`);
    if (desc.methodKind !== "client_streaming") return { message: first.value, more: answers };
    // Only the end of the stream confirms the answer, and releases the connection.
    if ((await answers.next()).done !== true) throw new Error(`${desc.name} answered with several messages`);
    return { message: first.value, more: undefined };
  } catch (thrown) {
    throw bodyFailure ?? thrown;
  }
};

/** The first message of an answer. An error instead of it gets the headers that the handler set. */
const firstAnswer = async (answers: AsyncIterator<Message>, headers: Headers): Promise<IteratorResult<Message>> => {
  try {
    return await answers.next();
  } catch (thrown) {
    if (thrown instanceof ConnectError)
      for (const [name, value] of headers) if (!thrown.metadata.has(name)) thrown.metadata.set(name, value);
    throw thrown;
  }
};

const callHeaders = async (
  gateway: Gateway,
  exchange: HttpExchange,
  bound: BoundCall,
  { caller, signedHeaders, head, identity }: CallOrigin,
): Promise<Record<string, string>> => {
  const headers: Record<string, string> = {
    authorization: `Bearer ${await gateway.minter.mint(caller, bound.binding.api.name)}`,
    "x-request-id": exchange.requestId,
  };
  for (const documented of bound.binding.api.forwardedHeaders) {
    const name = identity.spelling.header(documented);
    const value = signedHeaders.includes(name) ? head.headers[name] : undefined;
    if (typeof value === "string") headers[documented] = value;
  }
  return headers;
};

async function* requestMessages(bound: BoundCall, noteFailure: (thrown: unknown) => void): AsyncGenerator<Message> {
  yield bound.message;
  if (bound.more === undefined) return;
  try {
    yield* bound.more;
  } catch (thrown) {
    noteFailure(thrown);
    throw thrown;
  }
}
