import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";

import { findServiceApi } from "../../services/kit/contract/contract.ts";
import { requestFactNames } from "../../services/kit/identity/request-facts.ts";
import type { CallContext } from "../../services/kit/server/handlers.ts";
import type { OfferedService } from "../../services/kit/server/route.ts";

type Requests = Message | AsyncIterable<Message>;

/**
 * Offers a service that another process serves: each call is made again there, with the caller's own token, deadline
 * and request id, with the facts of its request and the headers that the service declares, and ends there when it ends
 * here. Messages are passed on one by one, as they are read.
 */
export const passedThrough = (service: DescService, transport: Transport): OfferedService => ({
  service,
  handlers: Object.fromEntries(service.methods.map((method) => [method.localName, handlerOf(method, transport)])),
  app: undefined,
});

const handlerOf = (method: DescMethod, transport: Transport) =>
  method.methodKind === "unary"
    ? async (request: Message, context: CallContext<unknown>) =>
        (await transport.unary(asUnary(method), context.signal, leftMs(context), headersOf(context), request)).message
    : (requests: Requests, context: CallContext<unknown>) => streamed(method, transport, requests, context);

/** A call with a stream in either direction. One that has one answer resolves with it. */
const streamed = (
  method: DescMethod,
  transport: Transport,
  requests: Requests,
  context: CallContext<unknown>,
): AsyncIterable<Message> | Promise<Message> => {
  const input =
    method.methodKind === "server_streaming" ? only(requests as Message) : (requests as AsyncIterable<Message>);
  const answers = async function* (): AsyncGenerator<Message> {
    const { signal } = context;
    const answer = await transport.stream(asStreaming(method), signal, leftMs(context), headersOf(context), input);
    // Ending this generator ends these messages, and with them the call.
    yield* answer.message;
  };
  return method.methodKind === "client_streaming" ? firstOf(answers()) : answers();
};

const asUnary = (method: DescMethod) => method as DescMethod & { readonly methodKind: "unary" };
const asStreaming = (method: DescMethod) => method as DescMethod & { readonly methodKind: "bidi_streaming" };

async function* only(request: Message): AsyncGenerator<Message> {
  yield request;
}

const firstOf = async (answers: AsyncIterable<Message>): Promise<Message> => {
  let found: Message | undefined;
  // Read to the end, because the status follows the message.
  for await (const answer of answers) found ??= answer;
  if (found === undefined) throw new Error("the service sent no answer");
  return found;
};

/** How long the caller still waits, in milliseconds; undefined: as long as it takes. */
const leftMs = ({ deadlineMs }: CallContext<unknown>): number | undefined =>
  deadlineMs === undefined ? undefined : Math.max(1, deadlineMs - Date.now());

const headersOf = ({ method, requestHeader, requestId }: CallContext<unknown>): Record<string, string> => ({
  authorization: requestHeader.get("authorization") ?? "",
  "x-request-id": requestId,
  ...Object.fromEntries(
    [...requestFactNames, ...(findServiceApi(method.parent)?.forwardedHeaders ?? [])].flatMap((name) => {
      const value = requestHeader.get(name);
      return value === null ? [] : [[name, value]];
    }),
  ),
});
