import { IncomingMessage } from "node:http";
import type { ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import { createRegistry } from "@bufbuild/protobuf";
import type { HandlerContext, MethodImpl } from "@connectrpc/connect";
import { Code, ConnectError, createConnectRouter, createContextKey, createContextValues } from "@connectrpc/connect";
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";

import type { Connection } from "../identity/connection.ts";
import { connectionOf } from "../identity/connection.ts";
import type { Logger } from "../log/log.ts";
import { tooLarge } from "../wire/frame-parser.ts";
import { malformed, ProtocolError } from "../wire/protocol-error.ts";
import type { Call } from "./call.ts";
import { countedBody, countingAs, countingGzip } from "./counted-requests.ts";
import type { Dispatcher } from "./dispatch.ts";
import { callerGone, deadlinePassed } from "./dispatch.ts";
import { lingerOver } from "./linger.ts";
import { pathOf } from "./route.ts";
import { Turn } from "../clock/turn.ts";

/** Serves the protocols without a lane of their own: gRPC-Web, JSON, GET, and Connect over HTTP/2. */
type RouterLane = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) => Promise<void>;

type RouterHandlers = ReadonlyMap<string, ReturnType<typeof createConnectRouter>["handlers"][number]>;

const callKey = createContextKey<Call | undefined>(undefined);
const connectionKey = createContextKey<Connection>(undefined);

/**
 * The lane through connect-node's router. Its gate admits the call before the body is read, as the thin lanes do. The
 * router is made for the first request: a process that is called by the others only never has one.
 */
export const createRouterLane = (dispatcher: Dispatcher, services: readonly DescService[], log: Logger): RouterLane => {
  let handlers: RouterHandlers | undefined;
  const serve: RouterLane = async (request, response) => {
    handlers ??= routerHandlers(dispatcher, services);
    const path = request.url?.split("?", 1)[0] ?? "";
    const handler = handlers.get(path);
    const route = dispatcher.find(path);
    try {
      if (handler === undefined || route === undefined) {
        response.statusCode = 404;
        response.end();
      } else {
        if (request instanceof IncomingMessage) response.once("finish", () => lingerOver(request, dispatcher.limits));
        const values = createContextValues().set(connectionKey, connectionOf(request));
        await countingAs(request, async () => {
          const answer = await handler({
            ...universalRequestFromNodeRequest(request, response, undefined, values),
            body: countedBody(
              // The router's own reader would close the connection with the request, and so lose the answer.
              timelyBody(dispatcher, request.iterator({ destroyOnReturn: false }), () => values.get(callKey)),
              route.method.input,
              dispatcher.messageBytesMax(route),
            ),
          });
          await universalResponseToNodeResponse(answer, response);
        });
      }
    } catch (error) {
      // A connection that failed; a request that the router itself cannot read.
      // The query of a GET is the request itself.
      log.debug({ err: error, path }, "request failed");
      response.destroy();
    }
  };
  return serve;
};

const routerHandlers = (dispatcher: Dispatcher, services: readonly DescService[]): RouterHandlers => {
  const router = createConnectRouter({
    requestGate: (context) => openCall(dispatcher, context),
    // The types that an Any may hold, for the JSON of messages and of error details.
    jsonOptions: { registry: createRegistry(...services.map(({ file }) => file)) },
  });
  for (const method of services.flatMap(({ methods }) => methods)) {
    const isOpen = dispatcher.find(pathOf(method))?.isOpen === true;
    router.rpc(method, implementationOf(dispatcher, method), {
      acceptCompression: [countingGzip(method.input)],
      readMaxBytes: dispatcher.messageBytesMax({ isOpen, method }),
    });
  }
  return new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
};

/** A body whose next bytes must arrive in time; that of a call with one request, as a whole. */
async function* timelyBody(
  dispatcher: Dispatcher,
  body: AsyncIterable<Uint8Array>,
  findCall: () => Call | undefined,
): AsyncGenerator<Uint8Array> {
  const call = findCall();
  if (call === undefined || call.route.method.methodKind === "bidi_streaming") {
    yield* body;
    return;
  }
  const isWhole = call.route.method.methodKind === "unary";
  const settled = untilAborted(call);
  const iterator = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      if (!isWhole || call.awaitsSinceMs === undefined) call.awaitsSinceMs = performance.now();
      const next = await settled(iterator.next());
      if (!isWhole || next.done === true) call.awaitsSinceMs = undefined;
      if (next.done === true) return;
      yield next.value;
    }
  } catch (thrown) {
    throw call.abortReason === undefined || call.isClosed ? thrown : refused(dispatcher, call, thrown);
  } finally {
    await iterator.return?.();
  }
}

const openCall = async (dispatcher: Dispatcher, context: HandlerContext): Promise<void> => {
  const route = dispatcher.find(pathOf(context.method));
  if (route === undefined) return;
  const headers = Object.fromEntries(context.requestHeader);
  const call = dispatcher.open(route, headers, () => context.timeoutMs());
  context.values.set(callKey, call);
  context.responseHeader.set("x-request-id", call.requestId);
  // The router aborts this signal at every end of a call; a call still open then did not reach its handler.
  context.signal.addEventListener("abort", () => {
    const reason: unknown = context.signal.reason;
    if (isRouterRefusal(reason) && !call.isClosed) {
      // The router sends this same error object after all listeners have run.
      const { code, rawMessage, message, details } = dispatcher.refuse(
        call,
        toProtocolError(reason, dispatcher.messageBytesMax(route)),
      );
      Object.assign(reason, { code, rawMessage, message, details });
    }
    call.abort(isDeadline(reason) ? deadlinePassed() : callerGone());
    dispatcher.close(call, ConnectError.from(reason));
  });
  try {
    await dispatcher.admit(call, headers, context.values.get(connectionKey));
  } catch (thrown) {
    throw refused(dispatcher, call, thrown);
  }
};

const isDeadline = (reason: unknown): boolean =>
  reason instanceof ConnectError && reason.code === Code.DeadlineExceeded;

/** True for a request that the router itself refused. */
const isRouterRefusal = (reason: unknown): reason is ConnectError =>
  reason instanceof ConnectError && (reason.code === Code.InvalidArgument || reason.code === Code.ResourceExhausted);

/** A refusal by the router as the kit's own error, so that callers get the service's declared reason. */
const toProtocolError = ({ code, rawMessage }: ConnectError, messageBytesMax: number): ProtocolError => {
  if (code === Code.ResourceExhausted) return tooLarge(messageBytesMax);
  return code === Code.InvalidArgument ? malformed(rawMessage) : new ProtocolError(code, rawMessage);
};

const refused = (dispatcher: Dispatcher, call: Call, thrown: unknown): ConnectError => {
  const error = dispatcher.refuse(call, thrown);
  dispatcher.close(call, error);
  return error;
};

const callOf = (context: HandlerContext): Call => {
  const call = context.values.get(callKey);
  if (call === undefined) throw new Error(`the call of ${context.method.name} was not opened`);
  return call;
};

const implementationOf = (dispatcher: Dispatcher, method: DescMethod): MethodImpl<DescMethod> => {
  switch (method.methodKind) {
    case "unary":
      return ((request: Message, context: HandlerContext) =>
        unary(dispatcher, request, context)) as MethodImpl<DescMethod>;
    case "client_streaming":
      return ((requests: AsyncIterable<Message>, context: HandlerContext) =>
        clientStream(dispatcher, requests, context)) as MethodImpl<DescMethod>;
    case "server_streaming":
      return ((request: Message, context: HandlerContext) =>
        answers(dispatcher, once(request), context)) as MethodImpl<DescMethod>;
    case "bidi_streaming":
      return ((requests: AsyncIterable<Message>, context: HandlerContext) =>
        answers(dispatcher, requests, context)) as MethodImpl<DescMethod>;
  }
};

const unary = async (dispatcher: Dispatcher, request: Message, context: HandlerContext): Promise<Message> => {
  const call = callOf(context);
  try {
    const answer = await untilAborted(call)(dispatcher.unary(call, request));
    giveHeaders(call, context);
    dispatcher.close(call);
    return answer;
  } catch (thrown) {
    giveHeaders(call, context);
    throw refused(dispatcher, call, thrown);
  }
};

const clientStream = async (
  dispatcher: Dispatcher,
  requests: AsyncIterable<Message>,
  context: HandlerContext,
): Promise<Message> => {
  for await (const answer of answers(dispatcher, requests, context)) return answer;
  throw refused(dispatcher, callOf(context), callerGone());
};

async function* answers(
  dispatcher: Dispatcher,
  requests: AsyncIterable<Message>,
  context: HandlerContext,
): AsyncGenerator<Message> {
  const call = callOf(context);
  const iterator = dispatcher.stream(call, readable(dispatcher.messageBytesMax(call.route), requests));
  const settled = untilAborted(call);
  const turn = new Turn();
  // Not awaited: a handler that ignores its signal may not return for any time.
  const leave = (): void => void iterator.return(undefined).catch(() => {});
  // If the caller disconnects while the router waits for the network, this generator is not resumed.
  call.whenAborted(leave);
  try {
    for (;;) {
      const next = await settled(iterator.next());
      giveHeaders(call, context);
      if (next.done === true) break;
      yield next.value;
      if (turn.isOver) await turn.next();
    }
    dispatcher.close(call);
  } catch (thrown) {
    giveHeaders(call, context);
    throw refused(dispatcher, call, thrown);
  } finally {
    leave();
  }
}

/** Turns the router's error for unreadable requests into the kit's, also when a handler passes it on. */
async function* readable(messageBytesMax: number, requests: AsyncIterable<Message>): AsyncGenerator<Message> {
  try {
    yield* requests;
  } catch (error) {
    throw error instanceof ProtocolError ? error : toProtocolError(ConnectError.from(error), messageBytesMax);
  }
}

async function* once(request: Message): AsyncGenerator<Message> {
  yield request;
}

/** Makes promises settle with their work, or as soon as the call is aborted. One promise at a time. */
const untilAborted = (call: Call): (<T>(work: Promise<T>) => Promise<T>) => {
  let giveUp: ((reason: ProtocolError) => void) | undefined;
  call.whenAborted((reason) => giveUp?.(reason));
  return (work) =>
    new Promise((resolve, reject) => {
      giveUp = reject;
      work.then(resolve, reject);
      if (call.abortReason !== undefined) reject(call.abortReason);
    });
};

const giveHeaders = (call: Call, context: HandlerContext): void => {
  call.givenResponseHeader?.forEach((value, name) => context.responseHeader.set(name, value));
  call.givenResponseTrailer?.forEach((value, name) => context.responseTrailer.set(name, value));
};
