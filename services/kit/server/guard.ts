import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";

import { FaultRole } from "../../../gen/quartet/traits/v1/fault_pb.ts";
import { ProtocolError } from "../wire/protocol-error.ts";
import type { CallContext, Handlers } from "./handlers.ts";

/**
 * Decides, from the first message of a request, whether a call may reach its handler; throws the refusal if not. What
 * it returns becomes `context.access` of the handler: the proof, and whatever was read to decide.
 */
export type Guard<App, Access> = (request: Message, context: CallContext<App>) => Promise<Access>;

type AnyContext = { -readonly [K in keyof CallContext<unknown>]: CallContext<unknown>[K] };
type AnyHandler = (request: unknown, context: AnyContext) => unknown;

/**
 * Puts the guard before every handler of a service, so that no handler can be reached without its decision. Operations
 * that are not offered are guarded too: a caller who may not use the service does not learn what it offers. Of a
 * streamed request only the first message is read before the decision. A call that only asks ends with the decision.
 */
export const guarded = <S extends DescService, App, Access>(
  service: S,
  handlers: Handlers<S, App, Access>,
  guard: Guard<App, Access>,
): Handlers<S, App> => {
  const admit = async (request: Message, context: AnyContext): Promise<void> => {
    context.access = await guard(request, context as CallContext<App>);
  };
  const all = handlers as Readonly<Record<string, AnyHandler | object | undefined>>;
  return Object.fromEntries(
    service.methods.map((method) => {
      const handler = all[method.localName];
      return [method.localName, guardedHandler(method, typeof handler === "function" ? handler : undefined, admit)];
    }),
  ) as unknown as Handlers<S, App>;
};

type Admit = (request: Message, context: AnyContext) => Promise<void>;

/** One handler behind the guard, in the shape of its method's kind. Without a handler it refuses, after the guard. */
const guardedHandler = (method: DescMethod, handler: unknown, admit: Admit): AnyHandler => {
  const handle = (handler ??
    (() => {
      throw notOffered(method);
    })) as (request: unknown, context: AnyContext) => never;
  switch (method.methodKind) {
    case "unary":
      return async (request, context) => {
        await admit(request as Message, context);
        return context.isQuestion === true ? {} : handle(request, context);
      };
    case "server_streaming":
      return (request, context) =>
        startedBy(async () => {
          await admit(request as Message, context);
          return context.isQuestion === true ? nothing() : handle(request, context);
        });
    case "client_streaming":
      return async (requests, context) => handle(await admitFirst(requests, context, admit), context);
    case "bidi_streaming":
      return (requests, context) => startedBy(async () => handle(await admitFirst(requests, context, admit), context));
  }
};

/** The answers to a question: it is enough that the guard let it through. */
async function* nothing(): AsyncGenerator<Message> {}

/** Reads the first request, asks the guard, and returns the requests with the first one put back. */
const admitFirst = async (requests: unknown, context: AnyContext, admit: Admit): Promise<AsyncIterable<Message>> => {
  const iterator = (requests as AsyncIterable<Message>)[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done === true) throw new ProtocolError(Code.InvalidArgument, "The call has no request message.");
  await admit(first.value, context);
  return resumed(first, iterator);
};

/** Answers that begin when the first one is asked for. No layer is added to the following ones. */
const startedBy = (start: () => Promise<AsyncIterable<Message>>): AsyncIterable<Message> => {
  let started: Promise<AsyncIterator<Message>> | undefined;
  let iterator: AsyncIterator<Message> | undefined;
  const begin = async (): Promise<AsyncIterator<Message>> => {
    iterator = (await start())[Symbol.asyncIterator]();
    return iterator;
  };
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => (iterator ?? (await (started ??= begin()))).next(),
      return: async () => (await iterator?.return?.()) ?? { done: true, value: undefined },
    }),
  };
};

/** A stream of requests with the one that was read ahead put back. */
export const resumed = (first: IteratorResult<Message>, rest: AsyncIterator<Message>): AsyncIterable<Message> => {
  let taken = false;
  const iterator: AsyncIterator<Message> = {
    next: () => {
      if (taken) return rest.next();
      taken = true;
      return Promise.resolve(first);
    },
    return: async () => (await rest.return?.()) ?? { done: true, value: undefined },
  };
  return { [Symbol.asyncIterator]: () => iterator };
};

/** The refusal of an operation that is known and not offered. */
export const notOffered = (method: DescMethod): ProtocolError =>
  new ProtocolError(Code.Unimplemented, `${method.name} is not offered.`, FaultRole.NOT_IMPLEMENTED, {
    operation: method.name,
  });
