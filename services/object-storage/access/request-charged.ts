import type { DescMethod, DescService } from "@bufbuild/protobuf";

import type { Handlers } from "../../kit/server/handlers.ts";
import type { BucketAccess } from "./access.ts";

/** The member by which an answer says that the requester pays, and its only value. */
const member = "requestCharged";
const memberField = "request_charged";
const value = "requester";

type AnyHandler = (request: unknown, context: { readonly access: Partial<BucketAccess> }) => unknown;

/**
 * The handlers, of which those whose answer has a member for it say that the requester is charged. Calls for which the
 * bucket's owner pays are passed on as they are.
 */
export const sayingWhoPays = <S extends DescService, App, Access extends BucketAccess>(
  service: S,
  handlers: Handlers<S, App, Access>,
): Handlers<S, App, Access> => {
  const all = handlers as Readonly<Record<string, AnyHandler | object | undefined>>;
  const charging = service.methods.flatMap((method) => {
    const handler = all[method.localName];
    const hasMember = method.output.proto.field.some(({ name }) => name === memberField);
    return hasMember && typeof handler === "function" ? [[method.localName, chargingHandler(method, handler)]] : [];
  });
  return { ...handlers, ...Object.fromEntries(charging) };
};

const chargingHandler = (method: DescMethod, handler: unknown): AnyHandler => {
  const handle = handler as AnyHandler;
  const charged = method.methodKind === "server_streaming" ? chargedStream : chargedAnswer;
  return (request, context) => {
    const answer = handle(request, context);
    return context.access.isRequesterCharged === true ? charged(answer as never) : answer;
  };
};

const chargedAnswer = async (answer: Promise<object>): Promise<object> => ({ ...(await answer), [member]: value });

/** The first message of a stream has all that is said of it. */
async function* chargedStream(messages: AsyncIterable<object>): AsyncGenerator<object> {
  let isFirst = true;
  for await (const message of messages) {
    yield isFirst ? { ...message, [member]: value } : message;
    isFirst = false;
  }
}
