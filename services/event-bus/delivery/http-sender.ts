import { Agent, request } from "undici";

import type { AddressGuard } from "./address-guard.ts";
import { ForbiddenAddressError } from "./address-guard.ts";

/** One outgoing request. */
export interface OutgoingRequest {
  readonly method: "GET" | "HEAD" | "OPTIONS" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: no body. */
  readonly body: string | undefined;
}

/** The answer to a request. */
interface IncomingAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** The beginning of the body; empty unless it was requested. */
  readonly body: string;
}

/** A request without an answer. Codes are the documented ones of dead letters. */
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

/** Sends requests to targets outside the installation. */
export interface HttpSender {
  /**
   * Sends one request and follows no redirect. Reads at most `bodyBytesMax` bytes of the answer's body; unset: none.
   * Throws SendError, or the signal's reason.
   */
  send(outgoing: OutgoingRequest, signal: AbortSignal, bodyBytesMax?: number): Promise<IncomingAnswer>;
  close(): Promise<void>;
}

/** Creates a sender. A request with its answer takes at most `requestMsMax` milliseconds. */
export const createHttpSender = (guard: AddressGuard, requestMsMax: number): HttpSender => {
  const agent = new Agent({ connect: { lookup: guard.lookup }, pipelining: 0, maxHeaderSize: 65_536 });
  return {
    async send(outgoing, signal, bodyBytesMax = 0) {
      const limit = AbortSignal.timeout(requestMsMax);
      try {
        guard.check(outgoing.url);
        const answer = await request(outgoing.url, {
          dispatcher: agent,
          method: outgoing.method,
          headers: outgoing.headers,
          body: outgoing.body ?? null,
          reset: true,
          signal: AbortSignal.any([signal, limit]),
        });
        const body = bodyBytesMax === 0 ? "" : await readBody(answer.body, bodyBytesMax);
        // The rest of the body is dropped with the connection, so that a slow body does not delay an answered delivery.
        answer.body.on("error", () => {}).destroy();
        const retryAfter = answer.headers["retry-after"];
        return { status: answer.statusCode, retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter, body };
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        throw toSendError(error, limit.aborted, requestMsMax);
      }
    },
    close: () => agent.destroy(),
  };
};

const readBody = async (body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<string> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body) {
    parts.push(part);
    size += part.byteLength;
    if (size >= bytesMax) break;
  }
  return Buffer.concat(parts).subarray(0, bytesMax).toString("utf8");
};

const toSendError = (error: unknown, isLate: boolean, requestMsMax: number): SendError => {
  if (isLate) return new SendError("TIMEOUT", `The endpoint did not answer within ${requestMsMax} ms.`, true, error);
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof ForbiddenAddressError)
    return new SendError("SDK_CLIENT_ERROR", `The endpoint may not be reached: ${message}.`, false, error);
  if (code === "ENOTFOUND")
    return new SendError("CONNECTION_FAILURE", "The endpoint's host has no address.", false, error);
  if (code === "UND_ERR_INVALID_ARG" || error instanceof TypeError)
    return new SendError("SDK_CLIENT_ERROR", `The request cannot be sent: ${message}.`, false, error);
  return new SendError("CONNECTION_FAILURE", `The endpoint could not be reached: ${code ?? message}.`, true, error);
};
