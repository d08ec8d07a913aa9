import type { Message } from "@bufbuild/protobuf";

import type { FieldContract } from "../../services/kit/contract/contract.ts";
import { encodeHeader, responseDocument, responseHead } from "../bindings/bind-response.ts";
import { getField, setField } from "../values/scalars.ts";
import type { Document, AnswerContext } from "../codecs/codec.ts";
import type { HttpExchange } from "./exchange.ts";
import { requestUrl } from "./exchange.ts";
import { errorPieces, eventPieces, eventStreamType } from "../events/event-stream.ts";
import { faultOf } from "../faults/fault-of.ts";
import type { HttpFault } from "../faults/http-fault.ts";
import type { FaultContext } from "../faults/fault-context.ts";
import type { Gateway } from "../gateway.ts";
import { beginEarly } from "../http/early-answer.ts";
import type { AnswerHead } from "../http/send.ts";
import { countedPieces } from "../reports/report-draft.ts";
import { sendPieces, sendWhole, settleUnread } from "../http/send.ts";
import type { Answer, BoundCall, Identity } from "./stages.ts";

/** Writes the answer of a call. Rejects with the error of the call as long as nothing was sent. */
export const render = async (
  gateway: Gateway,
  exchange: HttpExchange,
  identity: Identity,
  bound: BoundCall,
  outcome: Promise<Answer>,
): Promise<void> => {
  const { response } = exchange;
  const { method } = bound;
  const identifying = idHeaders(gateway, exchange, identity);
  if (method.http?.hasEarlyStatus === true) {
    const early = await beginEarly(response, outcome, gateway.limits.earlyStatusAfterMs, identifying);
    if (early !== undefined) return early.finish(await lateDocument(gateway, exchange, identity, bound, outcome));
  }
  const answer = await outcome;
  const { status, headers } = responseHead(method, answer.message, identity.spelling);
  if (method.desc.methodKind === "server_streaming") {
    const name = method.output.payload!.desc;
    const head = { status, headers: joined(identifying, headers) };
    const { stallTimeoutMs } = gateway.limits;
    if (answer.more === undefined && method.output.event === undefined)
      return sendAnswer(exchange, head, bufferOf(getField(answer.message, name)));
    settleUnread(exchange.request, response, exchange.body);
    if (method.output.event !== undefined) {
      head.headers["content-type"] = eventStreamType;
      return sendPieces(
        response,
        head,
        countedPieces(exchange, framedEvents(gateway, exchange, identity, bound, answer)),
        stallTimeoutMs,
      );
    }
    return sendPieces(
      response,
      head,
      countedPieces(
        exchange,
        bodyPieces(answer, (message) => getField(message, name)),
      ),
      stallTimeoutMs,
    );
  }
  const document = documentOf(exchange, identity, bound, answer.message);
  if (document !== undefined) identifying["content-type"] = document.contentType;
  const head = { status, headers: joined(identifying, headers) };
  // Clients of methods with an early status read chunks, whenever the answer is known.
  if (method.http?.hasEarlyStatus === true && document !== undefined) return sendChunked(exchange, head, document.body);
  sendAnswer(exchange, head, document?.body);
};

/** Sends an answer without a streamed body, and settles what was not read of the request. */
export const sendAnswer = (exchange: HttpExchange, head: AnswerHead, body?: Buffer): void => {
  if (exchange.report !== undefined && exchange.request.method !== "HEAD")
    exchange.report.bytesSent = body?.byteLength ?? 0;
  settleUnread(exchange.request, exchange.response, exchange.body);
  sendWhole(exchange.response, head, body);
};

const sendChunked = (exchange: HttpExchange, { status, headers }: AnswerHead, body: Buffer): void => {
  if (exchange.report !== undefined) exchange.report.bytesSent = body.byteLength;
  settleUnread(exchange.request, exchange.response, exchange.body);
  exchange.response.writeHead(status, { ...headers });
  exchange.response.end(body);
};

/** Sets the headers of an answer among those that every answer has, which are of this answer only. */
const joined = (all: Record<string, string>, own: Readonly<Record<string, string>>): Record<string, string> => {
  for (const name in own) all[name] = own[name]!;
  return all;
};

/**
 * Headers that every answer has: the ids of its request and of the gateway, and what the gateway shows of itself. A new
 * object each time.
 */
export const idHeaders = (gateway: Gateway, exchange: HttpExchange, identity: Identity): Record<string, string> => {
  const ids = identity.binding.codec.identityHeaders(answerContext(gateway, exchange, identity));
  return exchange.serverName === undefined ? ids : { server: exchange.serverName, ...ids };
};

/** Writes a refusal. If a part of the answer was sent already, the connection is closed instead. */
export const renderFault = (
  gateway: Gateway,
  exchange: HttpExchange,
  identity: Identity,
  bound: BoundCall | undefined,
  thrown: unknown,
): void => {
  const { response } = exchange;
  const { binding, spelling } = identity;
  const { fault, isDefect } = faultOf(thrown, faultContext(identity, bound));
  if (exchange.report !== undefined) exchange.report.errorCode = fault.publicName;
  if (exchange.signal.aborted && response.destroyed) return;
  if (isDefect) logDefect(gateway, exchange, identity, bound, thrown);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const context = answerContext(gateway, exchange, identity, bound);
  const document = binding.codec.writeFault(fault, context);
  const further = Object.entries(fault.headers).map(([name, value]) => [spelling.header(name), encodeHeader(value)]);
  const headers = {
    "content-type": document.contentType,
    ...idHeaders(gateway, exchange, identity),
    ...document.headers,
    ...(Object.fromEntries(further) as Record<string, string>),
    ...placeElsewhere(exchange, identity, fault),
  };
  if (fault.status === 304) delete (headers as Partial<typeof headers>)["content-type"];
  sendAnswer(exchange, { status: fault.status, headers }, document.body);
};

/** Where the same request is to be sent: a service knows the other place, and the gateway what was asked for. */
const placeElsewhere = (
  { rawQuery }: HttpExchange,
  { path }: Identity,
  { status, headers }: HttpFault,
): Readonly<Record<string, string>> =>
  status === 307 && headers.location !== undefined
    ? { location: `${headers.location}${path}${rawQuery === "" ? "" : `?${rawQuery}`}` }
    : {};

const logDefect = (
  gateway: Gateway,
  { requestId }: HttpExchange,
  { binding }: Identity,
  bound: BoundCall | undefined,
  thrown: unknown,
): void => {
  const operation = bound?.method.desc.name;
  gateway.log.error({ err: thrown, api: binding.api.name, operation, requestId }, "a request met a defect");
};

const faultContext = ({ binding, spelling }: Identity, bound: BoundCall | undefined): FaultContext => ({
  table: binding.faults,
  protocol: binding.api.protocol,
  spelling,
  bound,
});

/** The ids and the resource that the answers of a request show. */
const answerContext = (
  gateway: Gateway,
  exchange: HttpExchange,
  identity: Identity,
  bound?: BoundCall,
): AnswerContext => ({
  dialect: identity.spelling.dialect,
  requestId: exchange.requestId,
  hostId: gateway.hostId,
  resource: exchange.rawPath,
  hasWrappedErrors: bound?.method.http?.hasWrappedErrors === true,
});

/** The document of an answer, with the URL of the request in the member that is declared as it. */
const documentOf = (
  exchange: HttpExchange,
  { spelling }: Identity,
  { method, binding }: BoundCall,
  message: Message,
): Document | undefined => {
  const { requestUrl: member } = method.output;
  if (member !== undefined) setField(message, member.desc, requestUrl(exchange));
  return responseDocument(method, message, binding.codec, spelling, exchange.requestId);
};

/** The document after a status that was sent early: that of the answer, or that of the refusal. */
const lateDocument = async (
  gateway: Gateway,
  exchange: HttpExchange,
  identity: Identity,
  bound: BoundCall,
  outcome: Promise<Answer>,
): Promise<Buffer | undefined> => {
  const { binding } = bound;
  try {
    const { message } = await outcome;
    return documentOf(exchange, identity, bound, message)?.body;
  } catch (thrown) {
    const { fault } = faultOf(thrown, faultContext(identity, bound));
    return binding.codec.writeFault(fault, answerContext(gateway, exchange, identity, bound)).body;
  }
};

/** The frames of an answer's events. What ends it early is an event as well, and is logged if it is a defect. */
async function* framedEvents(
  gateway: Gateway,
  exchange: HttpExchange,
  identity: Identity,
  bound: BoundCall,
  answer: Answer,
): AsyncGenerator<Uint8Array> {
  const event = bound.method.output.event as FieldContract;
  const { spelling } = identity;
  try {
    for await (const message of allMessages(answer)) yield* eventPieces(event, message, bound.binding.codec, spelling);
  } catch (thrown) {
    if (exchange.signal.aborted) throw thrown;
    const { fault, isDefect } = faultOf(thrown, faultContext(identity, bound));
    if (isDefect) logDefect(gateway, exchange, identity, bound, thrown);
    yield* errorPieces(fault, spelling);
  }
}

const bufferOf = (bytes: unknown): Buffer => {
  const { buffer, byteOffset, byteLength } = bytes as Uint8Array;
  return Buffer.from(buffer, byteOffset, byteLength);
};

/** The bytes of an answer's messages, without a generator's steps between the network and the client. */
const bodyPieces = (
  { message, more }: Answer,
  read: (message: Message) => unknown,
): AsyncIterable<Uint8Array, undefined> => {
  let first: Message | undefined = message;
  const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
    if (first !== undefined) {
      const value = read(first) as Uint8Array;
      first = undefined;
      return { value };
    }
    const taken = await more?.next();
    return taken === undefined || taken.done === true ? ended : { value: read(taken.value) as Uint8Array };
  };
  return {
    [Symbol.asyncIterator]: () => ({
      next,
      return: async () => {
        await more?.return?.();
        return ended;
      },
    }),
  };
};

const ended = { done: true, value: undefined } as const;

async function* allMessages({ message, more }: Answer): AsyncGenerator<Message> {
  try {
    yield message;
    if (more === undefined) return;
    for (let next = await more.next(); next.done !== true; next = await more.next()) yield next.value;
  } finally {
    await more?.return?.();
  }
}
