import type { DescMethodStreaming, DescMethodUnary, Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { LRUCache } from "lru-cache";

import { hangingError } from "../../services/kit/client/service-health.ts";
import { PayloadRequests } from "../../services/kit/client/payload-requests.ts";
import { WholeAnswers } from "../../services/kit/client/whole-answers.ts";
import { WholeRequests } from "../../services/kit/client/whole-requests.ts";
import type { Caller } from "../../services/kit/identity/caller.ts";
import { describedRequestHeaders } from "../../services/kit/identity/user-request.ts";
import { requestFactHeaders } from "../../services/kit/identity/request-facts.ts";
import { questionHeaders } from "../../services/kit/server/question.ts";
import { contentEndHeader } from "../../services/kit/wire/content-end.ts";
import { deadlineHeader } from "../../services/kit/wire/timeouts.ts";
import { settlesAtOnce } from "../../services/kit/wire/settles-at-once.ts";
import { answeredMethod } from "../bindings/encoded-lists.ts";
import type { StreamedBody } from "../bindings/streamed-body.ts";
import type { HttpExchange } from "./exchange.ts";
import type { Gateway } from "../gateway.ts";
import { describeRequest, isDescribed } from "../reports/described-request.ts";
import { announceReports, noteRefusedSubject, noteSubjectOf } from "../reports/report-draft.ts";
import type { GatewayLimits } from "../http/limits.ts";
import type { RequestHead } from "../http/request-head.ts";
import { Admission } from "./admission.ts";
import { CallWatch } from "./call-watch.ts";
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
 * Asks the service whether a caller could be allowed a call whose document is not read yet. Rejects with the service's
 * refusal.
 */
export const ask = async (
  gateway: Gateway,
  exchange: HttpExchange,
  bound: BoundCall,
  origin: CallOrigin,
): Promise<void> => {
  const { transport, health } = bound.binding;
  if (health?.isHanging === true) throw hangingError();
  const token = await gateway.minter.mint(origin.caller, bound.binding.api.name);
  const headers = { ...callHeaders(gateway, exchange, bound, origin, token), ...questionHeaders };
  const { desc } = bound.method;
  const timeoutMs = gateway.limits.answerTimeoutMs;
  try {
    if (desc.methodKind === "unary")
      await transport.unary(desc as DescMethodUnary, exchange.signal, timeoutMs, headers, bound.message);
    else {
      const question = new WholeRequests([bound.message]);
      const answer = await transport.stream(desc as DescMethodStreaming, exchange.signal, timeoutMs, headers, question);
      for await (const _none of answer.message);
    }
  } catch (thrown) {
    noteRefusedSubject(exchange, thrown);
    throw thrown;
  }
};

/**
 * Calls the service with a token of the caller. The call is cancelled when the client goes away, and given up when the
 * service takes too long or hangs. Rejects with the ConnectError of the service, or with what reading the request's
 * body threw, which is the cause of the failed call.
 */
export const call = async (
  gateway: Gateway,
  exchange: HttpExchange,
  bound: BoundCall,
  origin: CallOrigin,
): Promise<Answer> => {
  const { transport, health } = bound.binding;
  if (health?.isHanging === true) throw hangingError();
  const token = await gateway.minter.mint(origin.caller, bound.binding.api.name);
  const header = callHeaders(gateway, exchange, bound, origin, token);
  const { limits } = gateway;
  const { desc } = bound.method;
  if (desc.methodKind === "unary") {
    const method = answeredMethod(bound.method, bound.binding.api.protocol);
    const isLong = bound.method.http?.hasEarlyStatus === true;
    const signal = isLong && health !== undefined ? AbortSignal.any([exchange.signal, health.signal]) : exchange.signal;
    const timeoutMs = isLong ? undefined : limits.answerTimeoutMs;
    const answer = transport.unary(method, signal, timeoutMs, header, bound.message);
    if (bound.binding.reports === undefined) return { message: (await answer).message, more: undefined };
    const response = await reported(exchange, answer);
    return { message: response.message, more: undefined };
  }

  let bodyFailure: unknown;
  const noteFailure = (thrown: unknown): void => {
    bodyFailure ??= thrown;
  };
  const watch = new CallWatch(exchange, health);
  const admission = exchange.body.isAwaited() ? new Admission() : undefined;
  try {
    const method = desc as DescMethodStreaming;
    const isUpload = bound.more !== undefined;
    const isKnown = bound.more === undefined || Array.isArray(bound.more);
    const isLong = (isKnown && isUpload) || isDescribed(bound.binding.api, origin.identity.path, origin.head.method);
    watch.expectAnswer(isLong ? limits.uploadAnswerTimeoutMs : limits.answerTimeoutMs);
    const messages = isKnown
      ? new WholeRequests([bound.message, ...((bound.more ?? []) as readonly Message[])])
      : uploadRequests(bound.message, bound.more as StreamedBody, watch, limits, noteFailure, admission);
    const headers = admission === undefined ? header : { ...header, ...admission.headers };
    if (!isKnown && !(bound.more as StreamedBody).hasTrailers) headers[contentEndHeader] = "1";
    // A service that was stopped meanwhile must not carry out what was told as failed.
    if (isKnown && isUpload) headers[deadlineHeader] = String(Date.now() + limits.uploadAnswerTimeoutMs);
    const response = await transport.stream(method, exchange.signal, undefined, headers, messages);
    admission?.answered(response.header);
    if (bound.binding.reports !== undefined) noteSubjectOf(exchange, response);
    if (response.message instanceof WholeAnswers && response.message.messages.length === 1) {
      watch.rest();
      return { message: response.message.messages[0] as Message, more: undefined };
    }
    const answers = response.message[Symbol.asyncIterator]();
    const first = await firstAnswer(answers, response);
    if (first.done === true) throw new Error(`${desc.name} answered without a message`);
    if (desc.methodKind !== "client_streaming") {
      watch.rest();
      const watched = watch.watched(answers, limits.stallTimeoutMs);
      const second = watched.next();
      const isEnd = await settlesAtOnce(second, ({ done }) => done === true);
      return { message: first.value, more: isEnd ? undefined : resumed(second, watched) };
    }
    // Only the end of the stream confirms the answer, and releases the connection.
    if ((await answers.next()).done !== true) throw new Error(`${desc.name} answered with several messages`);
    watch.rest();
    return { message: first.value, more: undefined };
  } catch (thrown) {
    if (bound.binding.reports !== undefined) noteRefusedSubject(exchange, thrown);
    admission?.failed();
    watch.rest();
    throw bodyFailure ?? thrown;
  }
};

/** An answer whose headers, or those of its refusal, may ask for a report. */
const reported = async <Response extends { readonly header: Headers }>(
  exchange: HttpExchange,
  answer: Promise<Response>,
): Promise<Response> => {
  try {
    const response = await answer;
    noteSubjectOf(exchange, response);
    return response;
  } catch (thrown) {
    noteRefusedSubject(exchange, thrown);
    throw thrown;
  }
};

/** The messages of an answer with the one that was asked for already put back. */
const resumed = (
  asked: Promise<IteratorResult<Message>>,
  rest: Pick<AsyncIterator<Message>, "next" | "return">,
): AsyncIterator<Message> => {
  let isTaken = false;
  return {
    next: () => {
      if (isTaken) return rest.next();
      isTaken = true;
      return asked;
    },
    return: async () => (await rest.return?.()) ?? { done: true, value: undefined },
  };
};

/** The first message of an answer. An error instead of it gets the headers that the handler set. */
const firstAnswer = async (
  answers: AsyncIterator<Message>,
  response: { readonly header: Headers },
): Promise<IteratorResult<Message>> => {
  try {
    return await answers.next();
  } catch (thrown) {
    if (thrown instanceof ConnectError)
      for (const [name, value] of response.header) if (!thrown.metadata.has(name)) thrown.metadata.set(name, value);
    throw thrown;
  }
};

const bearers = new LRUCache<string, string>({ max: 1_000 });

/** The header of a token: the same string each time, so that its long text is not joined and searched again. */
const bearerOf = (token: string): string => {
  let bearer = bearers.get(token);
  if (bearer === undefined) bearers.set(token, (bearer = `Bearer ${token}`));
  return bearer;
};

const callHeaders = (
  gateway: Gateway,
  exchange: HttpExchange,
  bound: BoundCall,
  { caller, signedHeaders, head, identity }: CallOrigin,
  token: string,
): Record<string, string> => {
  const headers = requestFactHeaders(caller);
  headers["authorization"] = bearerOf(token);
  headers["x-request-id"] = exchange.requestId;
  if (bound.binding.reports !== undefined) announceReports(headers);
  if (isDescribed(bound.binding.api, identity.path, head.method))
    Object.assign(headers, describedRequestHeaders(describeRequest(gateway, exchange)));
  for (const documented of bound.binding.api.forwardedHeaders) {
    const name = identity.spelling.header(documented);
    const value = signedHeaders.includes(name) ? head.headers[name] : undefined;
    if (typeof value === "string") headers[documented] = value;
  }
  return headers;
};

/** The requests of an upload, whose body is read as the service takes it. */
const uploadRequests = (
  head: Message,
  { pieces, sizeBytes, messageOf, last }: StreamedBody,
  watch: CallWatch,
  limits: GatewayLimits,
  noteFailure: (thrown: unknown) => void,
  admission: Admission | undefined,
): PayloadRequests<Message> =>
  new PayloadRequests(head, {
    pieces: watchedPieces(pieces, watch, limits, noteFailure, admission),
    sizeBytes,
    messageOf,
    last,
  });

/** The pieces of a body. While one is with the transport, the service is to take it; after the last, to answer. */
async function* watchedPieces(
  pieces: AsyncIterable<Uint8Array>,
  watch: CallWatch,
  limits: GatewayLimits,
  noteFailure: (thrown: unknown) => void,
  admission: Admission | undefined,
): AsyncGenerator<Uint8Array> {
  // A client that waits for `100 Continue` is asked for its body only when the service wants it.
  if (admission !== undefined && !(await admission.isWanted())) return;
  try {
    watch.rest();
    for await (const piece of pieces) {
      watch.expect(limits.stallTimeoutMs);
      yield piece;
      watch.rest();
    }
    watch.expectAnswer(limits.uploadAnswerTimeoutMs);
  } catch (thrown) {
    noteFailure(thrown);
    throw thrown;
  }
}
