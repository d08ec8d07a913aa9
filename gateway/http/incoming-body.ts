import type { IncomingMessage, ServerResponse } from "node:http";

import { GatheredBytes } from "../../services/kit/wire/gathered-bytes.ts";
import { giveBack, lendToFree } from "../../services/kit/wire/lent-memory.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import type { ByteAccount, ByteBudget } from "./byte-budget.ts";
import type { GatewayLimits } from "./limits.ts";
import type { ReadingTurns } from "./reading-turns.ts";

/**
 * The body of one request. Nothing of it is read, and no `100 Continue` is sent, before one of the reading methods is
 * called.
 */
export interface IncomingBody {
  /** Whether the head says that there is no body. */
  readonly isAbsent: boolean;
  /** Whether its declared length is so small that it is better read at once than streamed. */
  readonly isSmall: boolean;
  /** Whether the client waits for a `100 Continue` that was not sent. */
  isAwaited(): boolean;
  /** Whether one of the reading methods was called. */
  isBegun(): boolean;
  /**
   * The whole body, which counts to the budget until the request is answered; of a request that was not signed at most
   * half as much. Rejects with BODY_TOO_LARGE, SLOW_BODY, INCOMPLETE_BODY and BUSY.
   */
  readWhole(
    decode?: (source: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>,
    isSigned?: boolean,
  ): Promise<Buffer>;
  /** The whole of a small body, which also counts. Rejects with SLOW_BODY, INCOMPLETE_BODY and BUSY. */
  readSmall(): Promise<Buffer>;
  /** The pieces as they arrive; they are read from the network only as they are consumed. Can be iterated once. */
  pieces(): BodyPieces;
  /** The same in lent memory, for who gives each piece back when it was sent. */
  lentPieces(): BodyPieces;
}

/** The pieces of a body as they arrive. */
export interface BodyPieces extends AsyncIterable<Uint8Array> {
  /** After this time, in milliseconds, the next piece is refused with SLOW_BODY. Undefined: there is no limit. */
  limitTime(ms: number | undefined): void;
}

/** The body of a request that was just received. */
export const openIncomingBody = (
  request: IncomingMessage,
  response: ServerResponse,
  expectsContinue: boolean,
  limits: GatewayLimits,
  budget: ByteBudget,
  turns: ReadingTurns,
): IncomingBody => {
  let isAwaited = expectsContinue;
  let isBegun = false;
  const declared = declaredLength(request);
  const begin = (): void => {
    if (isAwaited) response.writeContinue();
    isAwaited = false;
    isBegun = true;
  };
  const pieces = (receive: (chunk: Buffer) => void): BodyPieces => {
    begin();
    // A request whose head declares no body has no stream that ends.
    if (declared === 0) return noPieces;
    return readPieces(request, limits.stallTimeoutMs, turns, receive);
  };
  const openAccount = (): ByteAccount => {
    const account = budget.open();
    response.on("close", account.release);
    return account;
  };
  return {
    isAbsent: declared === 0,
    // A client that waits for `100 Continue` wants to know first whether its body is needed.
    isSmall: declared !== undefined && declared <= smallBytesMax && !expectsContinue,
    isAwaited: () => isAwaited,
    isBegun: () => isBegun,
    pieces: () => pieces(keep),
    lentPieces: () => pieces(lendToFree),
    readWhole: async (decode, isSigned = true) => {
      if (declared === 0 && decode === undefined) return noBytes;
      const bytesMax = isSigned ? limits.bodyBytesMax : limits.unsignedBodyBytesMax;
      if ((declared ?? 0) > bytesMax) throw refusal(ErrorReason.BODY_TOO_LARGE);
      if (decode === undefined) {
        begin();
        const { stallTimeoutMs: stallMs, bodyTimeoutMs: timeoutMs } = limits;
        const account = openAccount();
        return (
          takeArrived(request, declared, account) ?? readAtOnce(request, { stallMs, timeoutMs, bytesMax }, account)
        );
      }
      const source = pieces(keep);
      source.limitTime(limits.bodyTimeoutMs);
      return collect(decode(source), bytesMax, openAccount());
    },
    readSmall: async () => {
      if (declared === 0) return noBytes;
      begin();
      const { stallTimeoutMs: stallMs } = limits;
      const account = openAccount();
      return (
        takeArrived(request, declared, account) ?? readAtOnce(request, { stallMs, bytesMax: smallBytesMax }, account)
      );
    },
  };
};

const noBytes = Buffer.alloc(0);

const noPieces: BodyPieces = {
  limitTime: () => {},
  [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: true, value: undefined }) }),
};

const keep = (): void => {};

/** Bodies up to this size are sent to their service as one message. */
const smallBytesMax = 64 * 1024;

/** The length in the head; undefined if the body is chunked. */
const declaredLength = (request: IncomingMessage): number | undefined => {
  if (request.headers["transfer-encoding"] !== undefined) return undefined;
  return Number(request.headers["content-length"] ?? 0);
};

const collect = async (source: AsyncIterable<Uint8Array>, bytesMax: number, account: ByteAccount): Promise<Buffer> => {
  const bytes = new GatheredBytes();
  for await (const chunk of source) {
    if (bytes.size + chunk.length > bytesMax) throw refusal(ErrorReason.BODY_TOO_LARGE);
    account.take(chunk.length);
    bytes.add(chunk);
  }
  return bytes.take();
};

/**
 * Takes a body of this length that has arrived as a whole, as a small one mostly has with its head: nothing has to be
 * watched then. Undefined if it has not. Throws BUSY. The platform calls a request complete only after the tasks that
 * its last byte has started, and this is one of them, so the bytes count.
 */
const takeArrived = (
  request: IncomingMessage,
  length: number | undefined,
  account: ByteAccount,
): Buffer | undefined => {
  if (request.readableLength !== length) return;
  account.take(length);
  return request.read() as Buffer;
};

interface ReadingLimits {
  /** The longest time without a piece. */
  readonly stallMs: number;
  /** The longest time until the end. Unset: any. */
  readonly timeoutMs?: number;
  readonly bytesMax: number;
}

/** Reads a body that nobody needs before its end. */
const readAtOnce = (request: IncomingMessage, limits: ReadingLimits, account: ByteAccount): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const bytes = new GatheredBytes();
    const take = (chunk: Buffer): void => {
      stall.refresh();
      try {
        if (bytes.size + chunk.length > limits.bytesMax) throw refusal(ErrorReason.BODY_TOO_LARGE);
        account.take(chunk.length);
        bytes.add(chunk);
      } catch (thrown) {
        fail(thrown as Error);
      }
    };
    const settle = (): void => {
      clearTimeout(stall);
      clearTimeout(limit);
      request.off("data", take);
    };
    const fail = (error: Error): void => {
      settle();
      if (!request.complete) request.pause();
      reject(error);
    };
    const slow = (): void => fail(refusal(ErrorReason.SLOW_BODY));
    const lost = (): void => {
      if (!request.complete) fail(refusal(ErrorReason.INCOMPLETE_BODY));
    };
    const stall = setTimeout(slow, limits.stallMs).unref();
    const limit = limits.timeoutMs === undefined ? undefined : setTimeout(slow, limits.timeoutMs).unref();
    request.on("data", take);
    request.on("end", () => {
      settle();
      resolve(bytes.take());
    });
    request.on("error", lost);
    request.on("close", lost);
  });

/** The most pieces that wait for their reader before reading from the network is paused. */
const queuedPiecesMax = 4;

/** Reads the pieces of a body; each is received before anybody else has it. */
const readPieces = (
  request: IncomingMessage,
  stallMs: number,
  turns: ReadingTurns,
  receive: (chunk: Buffer) => void,
): BodyPieces => {
  const queue: Uint8Array[] = [];
  let waiting: PromiseWithResolvers<IteratorResult<Uint8Array>> | undefined;
  let ended = false;
  let failure: Error | undefined;
  let isPausedForTurn = false;

  const stall = setTimeout(() => {
    if (waiting !== undefined) fail(refusal(ErrorReason.SLOW_BODY));
  }, stallMs);
  stall.unref();
  const fail = (error: Error): void => {
    if (ended || failure !== undefined) return;
    failure = error;
    clearTimeout(stall);
    clearTimeout(limit);
    waiting?.reject(error);
    waiting = undefined;
  };
  let limit: NodeJS.Timeout | undefined;
  const limitTime = (ms: number | undefined): void => {
    clearTimeout(limit);
    limit = ms === undefined || ended ? undefined : setTimeout(() => fail(refusal(ErrorReason.SLOW_BODY)), ms);
    limit?.unref();
  };
  const goOn = (): void => {
    isPausedForTurn = false;
    if (queue.length < queuedPiecesMax) request.resume();
  };
  request.on("data", (chunk: Buffer) => {
    receive(chunk);
    isPausedForTurn = turns.take(chunk.length, goOn);
    if (isPausedForTurn) request.pause();
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
    clearTimeout(limit);
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
      if (queue.length === 0 && request.isPaused() && !isPausedForTurn) request.resume();
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
    clearTimeout(limit);
    for (const chunk of queue.splice(0)) giveBack(chunk);
    return Promise.resolve({ done: true, value: undefined });
  };
  return { limitTime, [Symbol.asyncIterator]: () => ({ next, return: stop }) };
};
