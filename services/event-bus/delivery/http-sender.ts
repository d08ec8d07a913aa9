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

/** What came back. */
export interface IncomingAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** The beginning of the body, when it was asked for. */
  readonly body: string;
}

/** Why there was no answer, by the documented codes of dead letters. */
export class SendError extends Error {
  override readonly name = "SendError";
  readonly code: "CONNECTION_FAILURE" | "TIMEOUT" | "SDK_CLIENT_ERROR";
  /** False for what no retry mends: an address that may not be reached or that does not exist. */
  readonly isTransient: boolean;

  constructor(code: SendError["code"], message: string, isTransient: boolean, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.isTransient = isTransient;
  }
}

/** Sends requests to the outside. */
export interface HttpSender {
  /** Sends one request, following no redirect. Throws SendError, or the signal's reason. `bodyBytesMax` of 0 reads no body. */
  send(outgoing: OutgoingRequest, signal: AbortSignal, bodyBytesMax?: number): Promise<IncomingAnswer>;
  close(): Promise<void>;
}

/** Makes a sender. A request takes at most `requestMsMax` milliseconds from beginning to end. */
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
        // What is not read is thrown away with the connection; a slow body does not hold a delivery that was answered.
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
