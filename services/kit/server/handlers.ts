import type { DescMethod, DescService, MessageInitShape, MessageShape } from "@bufbuild/protobuf";

import type { AuditLog } from "../audit/audit-log.ts";
import type { Caller } from "../identity/caller.ts";
import type { Logger } from "../log/log.ts";
import type { RequestHeaders } from "./request-headers.ts";

/** What a handler knows about the call besides its request. `Access` is what the service's guard returned. */
export interface CallContext<App, Access = unknown> {
  /** The service's own dependencies: its store, clock, ids and whatever else it needs. */
  readonly app: App;
  readonly method: DescMethod;
  /** The guard's decision on this call; undefined before it, and in a service without a guard. */
  readonly access: Access;
  /** Who calls, as proven before the first byte of the request was read. */
  readonly caller: Caller;
  /** Names this call in logs, in errors and in the `x-request-id` header of the answer. */
  readonly requestId: string;
  /** Aborted when the caller goes away, the deadline passes or the server stops. */
  readonly signal: AbortSignal;
  /** The instant, in milliseconds since the epoch, after which nobody waits for the answer. */
  readonly deadlineMs: number | undefined;
  readonly requestHeader: RequestHeaders;
  /** Sent before the first message of the answer; changes after that have no effect. */
  readonly responseHeader: Headers;
  /** Sent after the last message of the answer. */
  readonly responseTrailer: Headers;
  /** Carries the method and the request id. */
  readonly log: Logger;
  /** Whether the call only asks whether it could be allowed: its request has no document yet. Unset: it does not. */
  readonly isQuestion?: boolean;
  /** Where decisions on the call are recorded. Unset: nowhere. */
  readonly audit?: AuditLog | undefined;
}

/** One request, one answer. */
export type UnaryHandler<M extends DescMethod, App, Access = unknown> = (
  request: MessageShape<M["input"]>,
  context: CallContext<App, Access>,
) => Promise<MessageInitShape<M["output"]>>;

/** Many requests, one answer. The requests are pulled: one that is not taken is not read from the network. */
export type ClientStreamingHandler<M extends DescMethod, App, Access = unknown> = (
  requests: AsyncIterable<MessageShape<M["input"]>>,
  context: CallContext<App, Access>,
) => Promise<MessageInitShape<M["output"]>>;

/** One request, many answers. The next answer is asked for when the network has taken the last one. */
export type ServerStreamingHandler<M extends DescMethod, App, Access = unknown> = (
  request: MessageShape<M["input"]>,
  context: CallContext<App, Access>,
) => AsyncIterable<MessageInitShape<M["output"]>>;

/** Many requests, many answers, in any order. */
export type BidiStreamingHandler<M extends DescMethod, App, Access = unknown> = (
  requests: AsyncIterable<MessageShape<M["input"]>>,
  context: CallContext<App, Access>,
) => AsyncIterable<MessageInitShape<M["output"]>>;

/** Stands for an operation that is known and not offered: it answers the service's NOT_IMPLEMENTED reason by name. */
export interface Pending {
  readonly pending: true;
}

/** The handler that a method of this kind needs. */
export type Handler<M extends DescMethod, App, Access = unknown> =
  | (M["methodKind"] extends "unary"
      ? UnaryHandler<M, App, Access>
      : M["methodKind"] extends "client_streaming"
        ? ClientStreamingHandler<M, App, Access>
        : M["methodKind"] extends "server_streaming"
          ? ServerStreamingHandler<M, App, Access>
          : BidiStreamingHandler<M, App, Access>)
  | Pending;

/** A whole service: every method has a handler or is declared pending, else it does not compile. */
export type Handlers<S extends DescService, App, Access = unknown> = {
  readonly [K in keyof S["method"]]: Handler<S["method"][K], App, Access>;
};

/**
 * Declares methods as known and not offered: `{ ...profileHandlers, ...pending(ProfileService, "mergeProfiles") }`.
 * A name that the service does not have does not compile.
 */
export const pending = <S extends DescService, Name extends keyof S["method"] & string>(
  _service: S,
  ...names: readonly Name[]
): { readonly [K in Name]: Pending } =>
  Object.fromEntries(names.map((name) => [name, { pending: true }])) as { [K in Name]: Pending };
