import type { IncomingHttpHeaders } from "node:http";

import type { DescMethod } from "@bufbuild/protobuf";

import type { AuditLog } from "../audit/audit-log.ts";
import type { Caller } from "../identity/caller.ts";
import { anonymousCaller } from "../identity/caller.ts";
import type { Logger } from "../log/log.ts";
import { TracedCall } from "../trace/traced-call.ts";
import type { ProtocolError } from "../wire/protocol-error.ts";
import type { CallContext } from "./handlers.ts";
import { isQuestion } from "./question.ts";
import { ReceivedHeaders } from "./request-headers.ts";
import type { Route } from "./route.ts";

/**
 * One call, from its headers to its end, and the context that its handler sees. What handlers seldom look at (headers,
 * signal, logger) is made when it is first asked for, because a call takes tens of microseconds in all.
 */
export class Call implements CallContext<unknown> {
  readonly route: Route;
  readonly requestId: string;
  readonly deadlineMs: number | undefined;
  /** On the monotonic clock of `performance.now()`. */
  readonly startedMs = performance.now();
  caller: Caller = anonymousCaller;
  access: unknown = undefined;
  /** True as soon as the handler may have done something. */
  hasBegun = false;
  /** The call's place in its trace, as its caller told it. */
  readonly work: TracedCall;
  /** On the monotonic clock: since when the next message of the request is waited for. */
  awaitsSinceMs: number | undefined;
  /** Runs when the call ends, by whichever way. */
  onClose: (() => void) | undefined;
  /** Where decisions on the call are recorded. */
  audit: AuditLog | undefined;
  readonly requestHeader: ReceivedHeaders;
  readonly #headers: IncomingHttpHeaders;
  readonly #serverLog: Logger;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;
  #controller: AbortController | undefined;
  #log: Logger | undefined;
  #abortReason: ProtocolError | undefined;
  #abortListeners: ((reason: ProtocolError) => void)[] = [];
  #isClosed = false;

  constructor(
    route: Route,
    headers: IncomingHttpHeaders,
    requestId: string,
    deadlineMs: number | undefined,
    log: Logger,
  ) {
    this.route = route;
    this.requestId = requestId;
    this.deadlineMs = deadlineMs;
    this.#headers = headers;
    this.requestHeader = new ReceivedHeaders(headers);
    this.#serverLog = log;
    const { traceparent, tracestate } = headers;
    this.work = new TracedCall(
      route.path.slice(1),
      "server",
      { traceparent: oneOf(traceparent), tracestate: oneOf(tracestate) },
      () => ({ "rpc.service": route.method.parent.typeName, "rpc.method": route.method.name }),
    );
  }

  /** Whether the call only asks whether it could be allowed. */
  get isQuestion(): boolean {
    return isQuestion(this.#headers);
  }

  get app(): unknown {
    return this.route.app;
  }

  get method(): DescMethod {
    return this.route.method;
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new Headers();
    return this.#responseHeader;
  }

  get responseTrailer(): Headers {
    this.#responseTrailer ??= new Headers();
    return this.#responseTrailer;
  }

  /** The response headers that the handler set; undefined when it set none. */
  get givenResponseHeader(): Headers | undefined {
    return this.#responseHeader;
  }

  /** The response trailers that the handler set; undefined when it set none. */
  get givenResponseTrailer(): Headers | undefined {
    return this.#responseTrailer;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  get log(): Logger {
    this.#log ??= this.#serverLog.child({ method: this.route.path, requestId: this.requestId });
    return this.#log;
  }

  /** Why the call was given up; undefined while it runs and after it ended well. */
  get abortReason(): ProtocolError | undefined {
    return this.#abortReason;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Gives the call up: the handler's signal is aborted and the lane answers the reason if it still can. */
  abort(reason: ProtocolError): void {
    if (this.#isClosed || this.#abortReason !== undefined) return;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#abortListeners) listener(reason);
  }

  /** Runs when the call is given up; at once when it already was. */
  whenAborted(listener: (reason: ProtocolError) => void): void {
    if (this.#abortReason !== undefined) listener(this.#abortReason);
    else this.#abortListeners.push(listener);
  }

  /** The call has ended; nothing can abort it any more. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#abortListeners = [];
    this.onClose?.();
  }
}

const oneOf = (header: string | string[] | undefined): string | undefined =>
  typeof header === "string" ? header : undefined;
