import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

import type { DescMethod, Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";

import { FaultRole } from "../../../gen/quartet/traits/v1/fault_pb.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import type { Clock } from "../clock/clock.ts";
import { systemClock } from "../clock/clock.ts";
import { PassingMap } from "../collections/passing-map.ts";
import type { Authenticate } from "../identity/authenticate.ts";
import type { Caller } from "../identity/caller.ts";
import type { Connection } from "../identity/connection.ts";
import { readRequestFacts } from "../identity/request-facts.ts";
import { ForgedTokenError } from "../identity/unauthenticated-error.ts";
import type { Logger } from "../log/log.ts";
import { loggableRequest } from "../log/loggable.ts";
import type { CallObserver } from "../metrics/call-metrics.ts";
import { iterateTraced } from "../trace/current-trace.ts";
import { violationsFault } from "../validation/validate.ts";
import { ProtocolError } from "../wire/protocol-error.ts";
import { deadlineHeader, parseDeadline } from "../wire/timeouts.ts";
import { unprocessedHeader } from "../wire/unprocessed.ts";
import { Call } from "./call.ts";
import { refusalOf } from "./errors.ts";
import type { FloodingPeers } from "./flooding-peers.ts";
import { notOffered, resumed } from "./guard.ts";
import type { ServerLimits } from "./limits.ts";
import type { AnyHandler, Route } from "./route.ts";

/** What the dispatcher needs from its server. */
export interface DispatcherOptions {
  readonly routes: ReadonlyMap<string, Route>;
  readonly authenticate: Authenticate;
  readonly limits: ServerLimits;
  readonly clock: Clock;
  readonly log: Logger;
  /** Is told of every call. Unset: nobody counts. */
  readonly observer?: CallObserver | undefined;
  /** Where decisions on calls are recorded. Unset: nowhere. */
  readonly audit?: AuditLog | undefined;
  /** Is told of the connections of valid and of forged tokens, and names those to refuse. Unset: nobody is. */
  readonly peers?: FloodingPeers | undefined;
  /** Processes whose own access log has the calls that they make: the line of such a call is for debugging only. */
  readonly loggingFrontEnds?: ReadonlySet<string> | undefined;
}

/** Finds the milliseconds that a caller waits. Throws ProtocolError when the header is malformed. */
export type ReadTimeout = (headers: IncomingHttpHeaders) => number | undefined;

/** Ids that callers may choose: visible, short, and harmless in a log line. */
const requestIdPattern = /^[A-Za-z0-9._:+/=@-]{1,128}$/;

/**
 * The way of every call, the same in all lanes: open (id, deadline, place among the calls running) -> authenticate ->
 * the lane reads and decodes -> validate -> handle -> the lane encodes and writes -> close (access log).
 */
export class Dispatcher {
  readonly limits: ServerLimits;
  readonly #options: DispatcherOptions;
  readonly #calls = new PassingMap<Call, true>();
  /** Those of them that need no token and have one request, the oldest first. */
  readonly #openQuestions = new PassingMap<Call, true>();
  /** The other ones that need no token. */
  #openStreams = 0;
  readonly #watch: NodeJS.Timeout;
  #onIdle: (() => void) | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.limits = options.limits;
    this.#watch = setInterval(() => this.#endSlowCalls(), Math.ceil(options.limits.messageTimeoutMs / 4));
    this.#watch.unref();
  }

  /** No call follows. */
  stop(): void {
    clearInterval(this.#watch);
  }

  /** The route of a request path, without its query. */
  find(path: string | undefined): Route | undefined {
    return path === undefined ? undefined : this.#options.routes.get(path);
  }

  /** Runs a function after so many milliseconds, by the server's clock. Returns what prevents it. */
  later(ms: number, run: () => void): () => void {
    const { clock } = this.#options;
    return clock.schedule(clock.now() + ms, run);
  }

  /** How many calls are running. */
  get callCount(): number {
    return this.#calls.size;
  }

  /**
   * Starts a call. It must be closed, whatever happens. The lane says how its headers name the milliseconds that the
   * caller waits; a malformed one gives the call up before it is admitted.
   */
  open(route: Route, headers: IncomingHttpHeaders, readTimeout: ReadTimeout): Call {
    const { clock, log } = this.#options;
    const given = headers["x-request-id"];
    const requestId = typeof given === "string" && requestIdPattern.test(given) ? given : randomUUID();
    let timeoutMs: number | undefined;
    let malformed: ProtocolError | undefined;
    try {
      timeoutMs = leastOf(readTimeout(headers), leftMs(headers));
    } catch (error) {
      malformed = error as ProtocolError;
    }
    const deadlineMs = timeoutMs === undefined ? undefined : clock.now() + timeoutMs;
    const call = new Call(route, headers, requestId, deadlineMs, log);
    const cancelDeadline =
      deadlineMs === undefined ? undefined : clock.schedule(deadlineMs, () => call.abort(deadlinePassed()));
    call.audit = this.#options.audit;
    const isOpenQuestion = route.isOpen && route.method.methodKind === "unary";
    call.onClose = () => {
      cancelDeadline?.();
      this.#calls.delete(call);
      if (isOpenQuestion) this.#openQuestions.delete(call);
      else if (route.isOpen) this.#openStreams -= 1;
      if (this.#calls.size === 0) this.#onIdle?.();
    };
    this.#calls.set(call, true);
    if (isOpenQuestion) this.#openQuestions.set(call, true);
    else if (route.isOpen) this.#openStreams += 1;
    this.#options.observer?.started(route.method);
    if (malformed !== undefined) call.abort(malformed);
    if (timeoutMs !== undefined && timeoutMs < 0) call.abort(deadlinePassed());
    const isLate = (): boolean => deadlineMs !== undefined && clock.now() > deadlineMs;
    call.work.givenUp = () => {
      if (isLate()) call.abort(deadlinePassed());
      return call.abortReason;
    };
    return call;
  }

  /** Bytes of one message of a request. */
  messageBytesMax({ isOpen, method }: Pick<Route, "isOpen" | "method">): number {
    const { openMessageBytesMax, unaryMessageBytesMax, streamMessageBytesMax } = this.#options.limits;
    const bytesMax = method.methodKind === "unary" ? unaryMessageBytesMax : streamMessageBytesMax;
    return isOpen ? Math.min(openMessageBytesMax, bytesMax) : bytesMax;
  }

  /** Finds out who calls, before anything of the request's body is read. Throws when it may not go on. */
  async admit(call: Call, headers: IncomingHttpHeaders, connection: Connection): Promise<void> {
    const { limits } = this.#options;
    if (call.abortReason !== undefined) throw call.abortReason;
    const { isOpen } = call.route;
    if (isOpen) {
      if (this.#openStreams > limits.openCallsMax && call.route.method.methodKind !== "unary") throw tooManyCalls();
      this.#endOldQuestions();
      return;
    }
    if (this.#calls.size - this.#openQuestions.size - this.#openStreams > limits.concurrentCallsMax)
      throw tooManyCalls();
    const caller = await this.authenticate(headers, call.route.method, connection);
    const facts = readRequestFacts(headers);
    call.caller = facts === undefined ? caller : { ...caller, ...facts };
    if (call.abortReason !== undefined) throw call.abortReason;
  }

  /**
   * The caller of a method, or of a page, by what was shown on a connection; forged tokens count against its address.
   * Throws UnauthenticatedError, and ProtocolError for a connection whose address was shut out.
   */
  async authenticate(
    headers: IncomingHttpHeaders,
    method: DescMethod | undefined,
    connection: Connection,
  ): Promise<Caller> {
    const { authenticate, peers } = this.#options;
    if (peers?.refuses(connection) === true) throw tooManyCalls();
    try {
      const caller = await authenticate(headers.authorization, method, connection, headers);
      peers?.noteCaller(connection);
      return caller;
    } catch (error) {
      if (error instanceof ForgedTokenError) peers?.noteForgery(connection);
      throw error;
    }
  }

  /**
   * Whoever needs no token is answered as soon as the request is there, so the oldest of too many wait for theirs:
   * they make room.
   */
  #endOldQuestions(): void {
    for (const oldest of this.#openQuestions.keys()) {
      if (this.#openQuestions.size <= this.limits.openCallsMax) return;
      this.#openQuestions.delete(oldest);
      oldest.abort(tooManyCalls());
    }
  }

  /** Answers a call with one request and one answer. */
  async unary(call: Call, request: Message): Promise<Message> {
    const { route } = call;
    if (!call.isQuestion) this.#inspect(call, request);
    // Without a guard nothing is known before the handler runs.
    else if (!route.isGuarded) return create(route.method.output);
    const handler = this.#handler(route);
    call.hasBegun = true;
    const answer = await call.work.run(() => handler(request, call));
    return create(route.method.output, answer as Message);
  }

  /** Answers a call with a stream of requests and one answer. The requests' iterator is closed when it is known. */
  async upload(call: Call, requests: AsyncIterator<Message>): Promise<Message> {
    const { route } = call;
    const handler = this.#handler(route);
    try {
      const first = await requests.next();
      if (first.done !== true) this.#inspect(call, first.value);
      call.hasBegun = true;
      const answer = await call.work.run(() => handler(resumed(first, requests), call));
      return create(route.method.output, answer as Message);
    } finally {
      await requests.return?.();
    }
  }

  /** Answers a call of any kind of stream. The requests' iterator is closed when the answer ends. */
  async *stream(call: Call, requests: AsyncIterator<Message>): AsyncGenerator<Message> {
    const { route } = call;
    const { output, methodKind } = route.method;
    if (methodKind === "client_streaming") {
      yield await this.upload(call, requests);
      return;
    }
    const handler = this.#handler(route);
    try {
      if (methodKind === "server_streaming") {
        const request = await onlyOne(requests);
        if (!call.isQuestion) this.#inspect(call, request);
        else if (!route.isGuarded) return;
        call.hasBegun = true;
        const answers = iterateTraced(call.work, () => handler(request, call) as AsyncIterable<Message>);
        for await (const answer of answers) yield create(output, answer);
      } else {
        const checked = this.#inspectedFirst(call, requests);
        call.hasBegun = true;
        const answers = iterateTraced(call.work, () => handler(checked, call) as AsyncIterable<Message>);
        for await (const answer of answers) yield create(output, answer);
      }
    } finally {
      await requests.return?.();
    }
  }

  /** Words an exception for the caller, and writes to the log what only the operator may see. */
  refuse(call: Call, thrown: unknown): ConnectError {
    const told = call.abortReason ?? thrown;
    const { error, isDefect } = refusalOf(told, call.route.faults, call.requestId);
    if (isDefect) call.log.error({ err: told }, "call failed");
    // Whoever is told so may make the call again, here or elsewhere.
    if (error.code === Code.Unavailable && !call.hasBegun) error.metadata.set(unprocessedHeader, "true");
    return error;
  }

  /** Ends a call and writes its line in the access log. Repeating it does nothing. */
  close(call: Call, error?: ConnectError): void {
    if (call.isClosed) return;
    call.close();
    const { log, observer, loggingFrontEnds } = this.#options;
    const tookMs = performance.now() - call.startedMs;
    observer?.ended(call.route.method, error?.code, tookMs);
    call.work.end(error?.message);
    const level = loggingFrontEnds?.has(call.caller.issuer) === true ? "debug" : "info";
    if (call.route.isOpen || !log.isLevelEnabled(level)) return;
    log[level](
      {
        method: call.route.path,
        code: error === undefined ? "ok" : codeToString(error.code),
        ms: Math.round(tookMs * 100) / 100,
        requestId: call.requestId,
        trace_id: call.work.trace.traceId,
        account: call.caller.accountId,
      },
      "call",
    );
  }

  /** The caller went away. Does nothing to a call that has ended. */
  abandon(call: Call): void {
    if (!call.isClosed) call.abort(callerGone());
  }

  /** Resolves when no call is running. */
  async idle(): Promise<void> {
    if (this.#calls.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  /** Gives all running calls up, or those that the filter names. */
  abortAll(reason: ProtocolError, filter: (call: Call) => boolean = () => true): void {
    for (const call of this.#calls.keys()) if (filter(call)) call.abort(reason);
  }

  #endSlowCalls(): void {
    const sinceMs = performance.now() - this.limits.messageTimeoutMs;
    this.abortAll(callerSlow(), ({ awaitsSinceMs }) => awaitsSinceMs !== undefined && awaitsSinceMs < sinceMs);
  }

  #handler(route: Route): AnyHandler {
    if (route.handler === undefined) throw notOffered(route.method);
    return route.handler;
  }

  /** Shows a request to those who trace, and refuses one that breaks its constraints. */
  #inspect(call: Call, request: Message): void {
    const { route } = call;
    if (this.#options.log.isLevelEnabled("trace"))
      call.log.trace({ request: loggableRequest(route.method, request) }, "received");
    if (route.faults === undefined) return;
    const violations = route.validate(request);
    if (violations.length > 0) throw violationsFault(route.faults, violations);
  }

  /** Two-way streams start before their first request, so the check waits for it. */
  async *#inspectedFirst(call: Call, requests: AsyncIterator<Message>): AsyncGenerator<Message> {
    let isFirst = true;
    for (let next = await requests.next(); next.done !== true; next = await requests.next()) {
      if (isFirst) this.#inspect(call, next.value);
      isFirst = false;
      yield next.value;
    }
  }
}

/** How long the caller still waits by its own clock, which is this machine's or close to it. */
const leftMs = (headers: IncomingHttpHeaders): number | undefined => {
  const untilMs = parseDeadline(headers[deadlineHeader] as string | undefined);
  return untilMs === undefined ? undefined : untilMs - systemClock.now();
};

const leastOf = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);

/** The refusal of a call whose caller waits no longer. */
export const deadlinePassed = (): ProtocolError =>
  new ProtocolError(Code.DeadlineExceeded, "The deadline passed.", FaultRole.DEADLINE);

/** The end of a call whose caller went away. */
export const callerGone = (): ProtocolError => new ProtocolError(Code.Canceled, "The caller went away.");

/** The refusal of a caller who sends too slowly. */
const callerSlow = (): ProtocolError =>
  new ProtocolError(Code.DeadlineExceeded, "The request did not arrive in time.", FaultRole.DEADLINE);

/** The refusal of calls that a stopping server does not finish. */
export const serverStopping = (): ProtocolError =>
  new ProtocolError(Code.Unavailable, "The server is stopping.", FaultRole.UNAVAILABLE);

const tooManyCalls = (): ProtocolError =>
  new ProtocolError(Code.ResourceExhausted, "Too many calls at the same time.", FaultRole.THROTTLED);

const onlyOne = async (requests: AsyncIterator<Message>): Promise<Message> => {
  const first = await requests.next();
  if (first.done === true) throw new ProtocolError(Code.Unimplemented, "The call has no request message.");
  const second = await requests.next();
  if (second.done !== true) throw new ProtocolError(Code.Unimplemented, "The call has more than one request message.");
  return first.value;
};
