import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";

import type { ServiceError } from "../faults/service-error.ts";
import type { Handlers } from "../server/handlers.ts";
import type { AnyHandler } from "../server/route.ts";

/** The disk of a guarded service. */
export interface SpaceGuard {
  readonly isLow: () => boolean;
  /** The refusal of a call that would take up room. */
  readonly refusal: () => ServiceError;
}

/** Operations that take up no room worth mentioning, most of which free some. */
const freeing = /^(?:abort|cancel|deactivate|deauthorize|delete|disable|remove|untag)(?=[A-Z])/;

/**
 * Refuses the calls of a service that take up room while its disk is low: all but reads and deletions. A stream of
 * requests is also refused in its course, so that a long upload does not take the room that deletions need.
 */
export const guardSpace = <S extends DescService, App>(
  service: S,
  handlers: Handlers<S, App>,
  guard: SpaceGuard,
): Handlers<S, App> => {
  const all = handlers as Readonly<Record<string, unknown>>;
  const guarded = service.methods
    .filter((method) => takesRoom(method) && typeof all[method.localName] === "function")
    .map((method) => [method.localName, guardHandler(all[method.localName] as AnyHandler, guard)] as const);
  return { ...handlers, ...Object.fromEntries(guarded) };
};

const takesRoom = (method: DescMethod): boolean =>
  method.idempotency !== Idempotency.NO_SIDE_EFFECTS && !freeing.test(method.localName);

const guardHandler =
  (handler: AnyHandler, guard: SpaceGuard): AnyHandler =>
  (request, context) => {
    if (guard.isLow()) throw guard.refusal();
    return handler(Symbol.asyncIterator in request ? whileThereIsRoom(request, guard) : request, context);
  };

const whileThereIsRoom = <Request>(requests: AsyncIterable<Request>, guard: SpaceGuard): AsyncIterable<Request> => ({
  [Symbol.asyncIterator]: () => {
    const iterator = requests[Symbol.asyncIterator]();
    return {
      next: () => (guard.isLow() ? Promise.reject(guard.refusal()) : iterator.next()),
      return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
    };
  },
});
