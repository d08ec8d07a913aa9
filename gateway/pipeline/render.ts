import type { Message } from "@bufbuild/protobuf";

import type { BoundCall } from "./bind.ts";
import { encodeHeader, responseDocument, responseHead } from "../bindings/bind-response.ts";
import { getField } from "../bindings/scalars.ts";
import type { Answer } from "./call.ts";
import type { Document, FaultContext } from "../codecs/codec.ts";
import type { Exchange } from "./exchange.ts";
import { faultOf } from "../faults/fault-of.ts";
import type { FaultVoice } from "../faults/fault-voice.ts";
import type { Gateway } from "../gateway.ts";
import { bindingOf } from "../gateway.ts";
import { beginEarly } from "../http/early-answer.ts";
import { sendPieces, sendWhole, settleUnread } from "../http/send.ts";
import type { Identity } from "./identify.ts";
import type { ServiceBinding } from "../service-binding.ts";

/** Writes the answer of a call. Rejects with what the call rejects with as long as nothing was sent. */
export const render = async (
  gateway: Gateway,
  exchange: Exchange,
  identity: Identity,
  bound: BoundCall,
  outcome: Promise<Answer>,
): Promise<void> => {
  const { response } = exchange;
  const { method, binding } = bound;
  const identifying = binding.codec.identify(faultContext(gateway, exchange, identity));
  if (method.http?.hasEarlyStatus === true) {
    const early = await beginEarly(response, outcome, gateway.limits.earlyStatusAfterMs, identifying);
    if (early !== undefined) return early.finish(await lateDocument(gateway, exchange, identity, bound, outcome));
  }
  const answer = await outcome;
  const { status, headers } = responseHead(method, answer.message, identity.spelling);
  if (answer.more !== undefined) {
    settleUnread(exchange.request, response, exchange.body);
    const name = method.output.payload!.desc;
    const head = { status, headers: { ...identifying, ...headers } };
    return sendPieces(
      response,
      head,
      bodyPieces(answer, (message) => getField(message, name)),
      gateway.limits.stallTimeoutMs,
    );
  }
  const document = responseDocument(method, answer.message, binding.codec, identity.spelling);
  settleUnread(exchange.request, response, exchange.body);
  sendWhole(response, { status, headers: { ...typeOf(document), ...identifying, ...headers } }, document?.body);
};

/** Writes a refusal. Where the answer is out already in part, the connection ends instead. */
export const renderFault = (
  gateway: Gateway,
  exchange: Exchange,
  identity: Identity,
  bound: BoundCall | undefined,
  thrown: unknown,
): void => {
  const { response } = exchange;
  const binding = bindingOf(gateway, identity);
  const { spelling } = identity;
  const { fault, isDefect } = faultOf(thrown, faultVoice(binding, identity, bound));
  if (exchange.signal.aborted && response.destroyed) return;
  if (isDefect) gateway.log.error({ err: thrown, requestId: exchange.requestId }, "a request met a defect");
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const context = faultContext(gateway, exchange, identity);
  const document = binding.codec.writeFault(fault, context);
  const further = Object.entries(fault.headers).map(([name, value]) => [spelling.header(name), encodeHeader(value)]);
  settleUnread(exchange.request, response, exchange.body);
  const headers = {
    "content-type": document.contentType,
    ...binding.codec.identify(context),
    ...document.headers,
    ...(Object.fromEntries(further) as Record<string, string>),
  };
  if (fault.status === 304) delete (headers as Partial<typeof headers>)["content-type"];
  sendWhole(response, { status: fault.status, headers }, document.body);
};

const faultVoice = (binding: ServiceBinding, identity: Identity, bound: BoundCall | undefined): FaultVoice => ({
  table: binding.faults,
  protocol: binding.api.protocol,
  spelling: identity.spelling,
  bound,
});

/** What the wording of a request's answers needs beside their content. */
export const faultContext = (gateway: Gateway, exchange: Exchange, identity: Identity): FaultContext => ({
  dialect: identity.spelling.dialect,
  requestId: exchange.requestId,
  hostId: gateway.hostId,
  resource: exchange.rawPath,
});

const typeOf = (document: Document | undefined): Record<string, string> =>
  document === undefined ? {} : { "content-type": document.contentType };

/** What follows a status that was sent early: the document, or the refusal as a document. */
const lateDocument = async (
  gateway: Gateway,
  exchange: Exchange,
  identity: Identity,
  bound: BoundCall,
  outcome: Promise<Answer>,
): Promise<Buffer | undefined> => {
  const { binding, method } = bound;
  try {
    const { message } = await outcome;
    return responseDocument(method, message, binding.codec, identity.spelling)?.body;
  } catch (thrown) {
    const { fault } = faultOf(thrown, faultVoice(binding, identity, bound));
    return binding.codec.writeFault(fault, faultContext(gateway, exchange, identity)).body;
  }
};

async function* bodyPieces(answer: Answer, read: (message: Message) => unknown): AsyncGenerator<Uint8Array> {
  const { message, more } = answer;
  try {
    yield read(message) as Uint8Array;
    if (more === undefined) return;
    for (let next = await more.next(); next.done !== true; next = await more.next())
      yield read(next.value) as Uint8Array;
  } finally {
    await more?.return?.();
  }
}
