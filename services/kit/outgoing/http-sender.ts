import { Agent, buildConnector } from "undici";

import type { AddressGuard } from "../network/address-guard.ts";
import { ForbiddenAddressError } from "../network/address-guard.ts";
import type { ExchangeLimits, IncomingAnswer } from "./http-exchange.ts";
import { AnswerLateError, HttpExchange } from "./http-exchange.ts";
import { OriginClients } from "./origin-clients.ts";
import type { FailedOutcome } from "./service-outcome.ts";

/** One outgoing request. */
export interface OutgoingRequest {
  readonly method: "GET" | "HEAD" | "OPTIONS" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: no body. */
  readonly body: string | Buffer | undefined;
}

/** A request without an answer. */
export class SendError extends Error {
  override readonly name = "SendError";
  readonly code: "CONNECTION_FAILURE" | "TIMEOUT" | "SDK_CLIENT_ERROR";
  /** False if a retry cannot succeed: the address is forbidden or does not exist. */
  readonly isTransient: boolean;

  constructor(code: SendError["code"], message: string, isTransient: boolean, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.isTransient = isTransient;
  }
}

/** The outcome of a request without an answer. Throws all other errors. */
export const outcomeOfError = (error: unknown): FailedOutcome => {
  if (!(error instanceof SendError)) throw error;
  return { kind: error.isTransient ? "retry" : "failed", code: error.code, message: error.message };
};

/** The parts of a URL with which a request is sent. */
interface RequestAddress {
  readonly href: string;
  readonly origin: string;
  readonly path: string;
}

/** Sends requests to endpoints outside the installation. */
export interface HttpSender {
  /**
   * Sends one request and follows no redirect. Reads at most `bodyBytesMax` bytes of the answer's body; unset: none.
   * Throws SendError, or the signal's reason.
   */
  send(outgoing: OutgoingRequest, signal: AbortSignal, bodyBytesMax?: number): Promise<IncomingAnswer>;
  close(): Promise<void>;
}

/** The limits of requests and their connections. */
export interface SenderLimits {
  /** Milliseconds that one request may take. */
  readonly requestMsMax: number;
  /** TCP connections to one origin: scheme, host and port. */
  readonly socketsPerOriginMax: number;
  /** TCP connections to all origins up to which they are kept for later requests. */
  readonly socketsKeptMax: number;
  /** Milliseconds for which a TCP connection is kept without a request; less if the endpoint announces less. */
  readonly socketIdleMsMax: number;
  /** Milliseconds after which a TCP connection is used for no further request, so that its name is looked up again. */
  readonly socketMsMax: number;
}

/** The limits of a service that needs no others. */
export const defaultSenderLimits: SenderLimits = {
  requestMsMax: 5_000,
  socketsPerOriginMax: 1_024,
  socketsKeptMax: 1_024,
  socketIdleMsMax: 4_000,
  socketMsMax: 60_000,
};

/**
 * Creates a sender. Connections are kept for later requests to the same origin, as long as their limits allow. The
 * guard checks addresses where a connection is made, so a name that points elsewhere is noticed at the next one.
 */
export const createHttpSender = (guard: AddressGuard, limits: SenderLimits): HttpSender => {
  const { requestMsMax, socketsPerOriginMax, socketsKeptMax, socketIdleMsMax, socketMsMax } = limits;
  const connecting = { lookup: guard.lookup, timeout: requestMsMax };
  const clientOptions = {
    maxHeaderSize: 65_536,
    keepAliveTimeout: socketIdleMsMax,
    keepAliveMaxTimeout: socketIdleMsMax,
    // Each exchange has its own time.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const agentOfNewSockets = new Agent({
    connect: connecting,
    connections: socketsPerOriginMax,
    maxHeaderSize: 65_536,
    pipelining: 0,
  });
  let open = 0;
  let isConnecting = false;
  const onConnect = (): void => {
    open += 1;
    // The requests that wait for a connection start in the same turn in which it is made.
    isConnecting = true;
    queueMicrotask(() => (isConnecting = false));
  };
  const onDisconnect = (): void => void (open -= 1);

  const origins = new Map<string, OriginClients>();
  const clientsOf = (origin: string): OriginClients => {
    let clients = origins.get(origin);
    if (clients === undefined) {
      clients = new OriginClients(origin, {
        client: clientOptions,
        // One for all connections of an origin, which remembers its TLS sessions.
        connect: buildConnector(connecting),
        socketsMax: socketsPerOriginMax,
        socketMsMax,
        onConnect,
        onDisconnect,
        onUnused: () => origins.delete(origin),
      });
      origins.set(origin, clients);
    }
    return clients;
  };

  const startsSocket = (): boolean => isConnecting;
  const exchange = (isRepeated: boolean, outgoing: OutgoingRequest, signal: AbortSignal, bounds: ExchangeLimits) => {
    const { method, url, headers, body = null } = outgoing;
    const { origin, path } = addressOf(url);
    const exchanged = new HttpExchange(bounds, signal, startsSocket);
    const options = { origin, path, method, headers, body, reset: open >= socketsKeptMax };
    if (isRepeated) agentOfNewSockets.dispatch(options, exchanged);
    else clientsOf(origin).dispatch(options, exchanged);
    return exchanged;
  };

  const repeat = async (outgoing: OutgoingRequest, signal: AbortSignal, bounds: ExchangeLimits) => {
    try {
      return await exchange(true, outgoing, signal, bounds).answer;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw toSendError(error, requestMsMax);
    }
  };

  const addresses = new WeakMap<URL, RequestAddress>();
  /** Where a request goes. Throws ForbiddenAddressError. */
  const addressOf = (url: URL): RequestAddress => {
    const { href } = url;
    let address = addresses.get(url);
    if (address?.href !== href) {
      guard.check(url);
      address = { href, origin: url.origin, path: url.pathname + url.search };
      addresses.set(url, address);
    }
    return address;
  };

  return {
    async send(outgoing, signal, bodyBytesMax = 0) {
      let first: HttpExchange | undefined;
      const beginMs = performance.now();
      try {
        first = exchange(false, outgoing, signal, { bodyBytesMax, answerMsMax: requestMsMax });
        return await first.answer;
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        // An endpoint may close a kept connection at the moment at which a request is sent on it.
        if (first?.isOnKeptSocket !== true || !isClosed(error)) throw toSendError(error, requestMsMax);
        const answerMsMax = Math.max(1, requestMsMax - (performance.now() - beginMs));
        return await repeat(outgoing, signal, { bodyBytesMax, answerMsMax });
      }
    },
    close: async () => {
      const ending = new Error("the sender is closed");
      await Promise.all([...[...origins.values()].map((each) => each.destroy(ending)), agentOfNewSockets.destroy()]);
    },
  };
};

/** Errors of a connection that ends before the answer. */
const closedCodes = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"]);

const isClosed = (error: unknown): boolean => closedCodes.has((error as NodeJS.ErrnoException).code ?? "");

const toSendError = (error: unknown, requestMsMax: number): SendError => {
  if (error instanceof AnswerLateError)
    return new SendError("TIMEOUT", `The endpoint did not answer within ${requestMsMax} ms.`, true, error);
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof ForbiddenAddressError)
    return new SendError("SDK_CLIENT_ERROR", `The endpoint may not be reached: ${message}.`, false, error);
  if (code === "ENOTFOUND")
    return new SendError("CONNECTION_FAILURE", "The endpoint's host has no address.", false, error);
  if (code === "UND_ERR_INVALID_ARG" || error instanceof TypeError)
    return new SendError("SDK_CLIENT_ERROR", `The request cannot be sent: ${message}.`, false, error);
  return new SendError("CONNECTION_FAILURE", `The endpoint could not be reached: ${code ?? message}.`, true, error);
};
