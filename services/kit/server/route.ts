import type { DescEnum, DescMethod, DescService, Message, MessageInitShape } from "@bufbuild/protobuf";

import type { FaultTable } from "../faults/service-error.ts";
import { faultTable } from "../faults/service-error.ts";
import type { Validator } from "../validation/validate.ts";
import { validatorFor } from "../validation/validate.ts";
import type { MessageCodec } from "../wire/message-codec.ts";
import { messageCodec } from "../wire/message-codec.ts";
import type { CallContext, Pending } from "./handlers.ts";

/** One service that a server offers. Handlers are typed where they are declared, as the complete service. */
export interface OfferedService {
  readonly service: DescService;
  readonly handlers: object;
  /** Undefined only for the kit's own services, whose refusals are bare codes. */
  readonly errors?: DescEnum;
  readonly app: unknown;
  /** True for services whose handlers are `guarded`; calls that only ask are decided there. */
  readonly isGuarded?: boolean;
  /** True for services that accept callers without a token. */
  readonly isOpen?: boolean;
  /** Names of methods whose calls last until the caller ends them; a server that stops does not wait for these. */
  readonly endless?: readonly string[];
}

/** A handler as the dispatcher calls it; which of the shapes it has depends on the kind of the method. */
export type AnyHandler = (
  request: Message | AsyncIterable<Message>,
  context: CallContext<unknown>,
) => Promise<MessageInitShape<DescMethod["output"]>> | AsyncIterable<MessageInitShape<DescMethod["output"]>>;

/** Everything about one method that a call needs, found once by its path. */
export interface Route {
  readonly method: DescMethod;
  /** `/package.Service/Method`. */
  readonly path: string;
  /** Undefined: known and not implemented. */
  readonly handler: AnyHandler | undefined;
  readonly app: unknown;
  readonly faults: FaultTable | undefined;
  readonly validate: Validator;
  readonly input: MessageCodec;
  readonly output: MessageCodec;
  readonly isGuarded: boolean;
  readonly isOpen: boolean;
  readonly isEndless: boolean;
}

/** The routes of all methods by path. Throws, naming them, if methods have no handler. */
export const routesOf = (bindings: readonly OfferedService[]): ReadonlyMap<string, Route> => {
  const missing = bindings.flatMap(({ service, handlers }) =>
    service.methods.filter((method) => handlerOf(handlers, method) === undefined).map(pathOf),
  );
  if (missing.length > 0) throw new Error(`no handler for ${missing.join(", ")}`);
  const routes = bindings.flatMap((binding) =>
    binding.service.methods.map((method) => new DeclaredRoute(binding, method)),
  );
  return new Map(routes.map((route) => [route.path, route]));
};

/** The path of a method's calls. */
export const pathOf = (method: DescMethod): string => `/${method.parent.typeName}/${method.name}`;

const handlerOf = (handlers: object, method: DescMethod): AnyHandler | Pending | undefined =>
  (handlers as Record<string, AnyHandler | Pending | undefined>)[method.localName];

/** Makes its validator and its codecs when they are used: most methods of a process are not called for days. */
class DeclaredRoute implements Route {
  readonly method: DescMethod;
  readonly path: string;
  readonly handler: AnyHandler | undefined;
  readonly app: unknown;
  readonly faults: FaultTable | undefined;
  readonly isGuarded: boolean;
  readonly isOpen: boolean;
  readonly isEndless: boolean;
  #validate: Validator | undefined;
  #input: MessageCodec | undefined;
  #output: MessageCodec | undefined;

  constructor(binding: OfferedService, method: DescMethod) {
    const handler = handlerOf(binding.handlers, method);
    this.method = method;
    this.path = pathOf(method);
    this.handler = typeof handler === "function" ? handler : undefined;
    this.app = binding.app;
    this.faults = binding.errors === undefined ? undefined : faultTable(binding.errors);
    this.isGuarded = binding.isGuarded ?? false;
    this.isOpen = binding.isOpen ?? false;
    this.isEndless = binding.endless?.includes(method.name) ?? false;
  }

  get validate(): Validator {
    return (this.#validate ??= validatorFor(this.method.input));
  }

  get input(): MessageCodec {
    return (this.#input ??= messageCodec(this.method.input));
  }

  get output(): MessageCodec {
    return (this.#output ??= messageCodec(this.method.output));
  }
}
