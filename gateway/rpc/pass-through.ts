import type { DescEnum, DescMethod, DescService, Message } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { ConnectError } from "@connectrpc/connect";

import { findServiceApi } from "../../services/kit/contract/contract.ts";
import { clientTokenIssuer } from "../../services/kit/identity/client-tokens.ts";
import { requestFactNames } from "../../services/kit/identity/request-facts.ts";
import type { Minter } from "../../services/kit/identity/tokens.ts";
import { PassedRefusal } from "../../services/kit/server/errors.ts";
import type { CallContext } from "../../services/kit/server/handlers.ts";
import type { OfferedService } from "../../services/kit/server/route.ts";

type Requests = Message | AsyncIterable<Message>;

/** A service that another process serves. */
export interface PassedService {
  readonly service: DescService;
  /** The service's ErrorReason, for refusals before a call is made there. */
  readonly errors: DescEnum;
  readonly transport: Transport;
  /** Whom tokens for the service name. */
  readonly audience: string;
  /** Issues tokens that say from where a client called that showed a token of its own. */
  readonly minter: Minter;
}

/**
 * Offers a service that another process serves: each call is made again there, with the caller's own token, deadline
 * and request id, with the facts of its request and the headers that the service declares, and ends there when it ends
 * here. Messages are passed on one by one, as they are read.
 */
export const passedThrough = (passed: PassedService): OfferedService => ({
  service: passed.service,
  handlers: Object.fromEntries(passed.service.methods.map((method) => [method.localName, handlerOf(method, passed)])),
  errors: passed.errors,
  app: undefined,
});

const handlerOf = (method: DescMethod, passed: PassedService) =>
  method.methodKind === "unary"
    ? async (request: Message, context: CallContext<unknown>) => {
        const headers = await headersOf(context, passed);
        const call = passed.transport.unary(asUnary(method), context.signal, leftMs(context), headers, request);
        const answer = await call.catch((thrown: unknown) => {
          throw passedOn(thrown);
        });
        return answer.message;
      }
    : (requests: Requests, context: CallContext<unknown>) => streamed(method, passed, requests, context);

/** A call with a stream in either direction. One that has one answer resolves with it. */
const streamed = (
  method: DescMethod,
  passed: PassedService,
  requests: Requests,
  context: CallContext<unknown>,
): AsyncIterable<Message> | Promise<Message> => {
  const input =
    method.methodKind === "server_streaming" ? only(requests as Message) : (requests as AsyncIterable<Message>);
  const answers = async function* (): AsyncGenerator<Message> {
    const { signal } = context;
    const headers = await headersOf(context, passed);
    try {
      const answer = await passed.transport.stream(asStreaming(method), signal, leftMs(context), headers, input);
      // Ending this generator ends these messages, and with them the call.
      yield* answer.message;
    } catch (thrown) {
      throw passedOn(thrown);
    }
  };
  return method.methodKind === "client_streaming" ? firstOf(answers()) : answers();
};

/** What the service refuses stays as it is. */
const passedOn = (thrown: unknown): unknown => (thrown instanceof ConnectError ? new PassedRefusal(thrown) : thrown);

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

const headersOf = async (context: CallContext<unknown>, passed: PassedService): Promise<Record<string, string>> => {
  const { method, requestHeader, requestId } = context;
  return {
    authorization: await authorizationOf(context, passed),
    "x-request-id": requestId,
    ...Object.fromEntries(
      [...requestFactNames, ...(findServiceApi(method.parent)?.forwardedHeaders ?? [])].flatMap((name) => {
        const value = requestHeader.get(name);
        return value === null ? [] : [[name, value]];
      }),
    ),
  };
};

/** A client's own token says nothing of its connection, which the service does not see. */
const authorizationOf = async (
  { caller, requestHeader }: CallContext<unknown>,
  { audience, minter }: PassedService,
): Promise<string> =>
  caller.issuer === clientTokenIssuer
    ? `Bearer ${await minter.mint(caller, audience)}`
    : (requestHeader.get("authorization") ?? "");
