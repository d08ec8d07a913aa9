import type { IncomingMessage, ServerResponse } from "node:http";

import { GatheredBytes } from "../../services/kit/wire/gathered-bytes.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import type { GatewayLimits } from "./limits.ts";

/**
 * The body of one request. Nothing of it is read, and no `100 Continue` is sent, before one of the reading methods is
 * called.
 */
export interface IncomingBody {
  /** Whether the head says that there is no body. */
  readonly isAbsent: boolean;
  /** Whether the client waits for a `100 Continue` that was not sent. */
  isAwaited(): boolean;
  /** Whether one of the reading methods was called. */
  isBegun(): boolean;
  /** The whole body. Rejects with BODY_TOO_LARGE, SLOW_BODY and INCOMPLETE_BODY. */
  readWhole(decode?: (source: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>): Promise<Buffer>;
  /** The pieces as they arrive; they are read from the network only as they are consumed. Can be iterated once. */
  pieces(): AsyncIterable<Uint8Array>;
}

/** The body of a request that was just received. */
export const openIncomingBody = (
  request: IncomingMessage,
  response: ServerResponse,
  expectsContinue: boolean,
  limits: GatewayLimits,
): IncomingBody => {
  let isAwaited = expectsContinue;
  let isBegun = false;
  const declared = declaredLength(request);
  const begin = (): void => {
    if (isAwaited) response.writeContinue();
    isAwaited = false;
    isBegun = true;
  };
  const pieces = (): AsyncIterable<Uint8Array> => {
    begin();
    return readPieces(request, limits.stallTimeoutMs);
  };
  return {
    isAbsent: declared === 0,
    isAwaited: () => isAwaited,
    isBegun: () => isBegun,
    pieces,
    readWhole: async (decode) => {
      if (declared === 0) return noBytes;
      if ((declared ?? 0) > limits.bodyBytesMax) throw refusal(ErrorReason.BODY_TOO_LARGE);
      const source = pieces();
      return collect(decode === undefined ? source : decode(source), limits);
    },
  };
};

const noBytes = Buffer.alloc(0);

/** The length in the head; undefined if the body is chunked. */
const declaredLength = (request: IncomingMessage): number | undefined => {
  if (request.headers["transfer-encoding"] !== undefined) return undefined;
  return Number(request.headers["content-length"] ?? 0);
};

const collect = async (source: AsyncIterable<Uint8Array>, limits: GatewayLimits): Promise<Buffer> => {
  const bytes = new GatheredBytes();
  const deadlineMs = performance.now() + limits.bodyTimeoutMs;
  for await (const chunk of source) {
    bytes.add(chunk);
    if (bytes.size > limits.bodyBytesMax) throw refusal(ErrorReason.BODY_TOO_LARGE);
    if (performance.now() > deadlineMs) throw refusal(ErrorReason.SLOW_BODY);
  }
  return bytes.take();
};

/** The most pieces that wait for their reader before reading from the network is paused. */
const queuedPiecesMax = 4;

const readPieces = (request: IncomingMessage, stallMs: number): AsyncIterable<Uint8Array> => {
  const queue: Uint8Array[] = [];
  let waiting: PromiseWithResolvers<IteratorResult<Uint8Array>> | undefined;
  let ended = false;
  let failure: Error | undefined;

  const stall = setTimeout(() => {
    if (waiting !== undefined) fail(refusal(ErrorReason.SLOW_BODY));
  }, stallMs);
  stall.unref();
  const fail = (error: Error): void => {
    if (ended || failure !== undefined) return;
    failure = error;
    clearTimeout(stall);
    waiting?.reject(error);
    waiting = undefined;
  };
  request.on("data", (chunk: Buffer) => {
    if (waiting !== undefined) {
      waiting.resolve({ done: false, value: chunk });
      waiting = undefined;
      return;
    }
    queue.push(chunk);
    if (queue.length >= queuedPiecesMax) request.pause();
  });
  request.on("end", () => {
    ended = true;
    clearTimeout(stall);
    waiting?.resolve({ done: true, value: undefined });
    waiting = undefined;
  });
  const lost = (): void => fail(refusal(ErrorReason.INCOMPLETE_BODY));
  request.on("error", lost);
  request.on("close", () => {
    if (!request.complete) lost();
  });

  const next = (): Promise<IteratorResult<Uint8Array>> => {
    const chunk = queue.shift();
    if (chunk !== undefined) {
      if (queue.length === 0 && request.isPaused()) request.resume();
      return Promise.resolve({ done: false, value: chunk });
    }
    if (failure !== undefined) return Promise.reject(failure);
    if (ended) return Promise.resolve({ done: true, value: undefined });
    stall.refresh();
    waiting = Promise.withResolvers();
    return waiting.promise;
  };
  const stop = (): Promise<IteratorResult<Uint8Array>> => {
    clearTimeout(stall);
    queue.length = 0;
    return Promise.resolve({ done: true, value: undefined });
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: stop }) };
};
