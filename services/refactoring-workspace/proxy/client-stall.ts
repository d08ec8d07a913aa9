import type { ServerResponse } from "node:http";

import { drained } from "../../kit/wire/drained.ts";

/** A client neither sent nor read anything while it was waited for. */
export class ClientStalledError extends Error {
  override readonly name = "ClientStalledError";

  constructor() {
    super("the client sent nothing for too long");
  }
}

/** A client that sends or reads so many bytes a second is not waited for, however long it takes. */
const bytesPerMs = 1;

/**
 * Limits the waits for a client: each single one, and, while its place is wanted by others, all of them together beyond
 * a second for each 1,000 bytes. A connection to a service is of use to nobody else meanwhile.
 */
export class ClientStall {
  readonly #msMax: number;
  readonly #onStall: () => void;
  readonly #isWanted: () => boolean;
  #timer: NodeJS.Timeout | undefined;
  #beganMs = 0;
  #waitedMs = 0;

  /** `onStall` is called once the waits have taken so many milliseconds. `isWanted` unset: the place never is. */
  constructor(msMax: number, onStall: () => void, isWanted: () => boolean = () => false) {
    this.#msMax = msMax;
    this.#onStall = onStall;
    this.#isWanted = isWanted;
  }

  /** The client is waited for from now on, or is already. */
  begin(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(this.#onStall, this.#msMax).unref();
    this.#beganMs = performance.now();
  }

  /** The client has sent or read so many bytes, or is not waited for. */
  end(bytes = 0): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waitedMs = Math.max(0, this.#waitedMs + performance.now() - this.#beganMs - bytes / bytesPerMs);
    if (bytes > 0 && this.#waitedMs > this.#msMax && this.#isWanted()) this.#onStall();
  }
}

/**
 * The pieces that a client sends. Throws ClientStalledError if they take longer than so many milliseconds, and a second
 * for each 1,000 bytes.
 */
export async function* withoutStalls(source: AsyncIterable<Buffer>, msMax: number): AsyncGenerator<Buffer, void> {
  const pieces = source[Symbol.asyncIterator]();
  let isStalled = false;
  let leftMs = msMax;
  try {
    for (;;) {
      const beganMs = performance.now();
      const next = await beforeStall(pieces.next(), leftMs);
      if (next.done === true) return;
      const earnedMs = next.value.length / bytesPerMs;
      leftMs = Math.min(msMax, leftMs - (performance.now() - beganMs) + earnedMs);
      yield next.value;
    }
  } catch (error) {
    isStalled = error instanceof ClientStalledError;
    throw error;
  } finally {
    // Of a stalled source a piece is still asked for, and its end would come after that.
    if (!isStalled) await pieces.return?.();
  }
}

const beforeStall = async <T>(piece: Promise<T>, msMax: number): Promise<T> => {
  const { promise: stalled, reject } = Promise.withResolvers<never>();
  const stall = new ClientStall(msMax, () => reject(new ClientStalledError()));
  stall.begin();
  try {
    return await Promise.race([piece, stalled]);
  } finally {
    stall.end();
  }
};

/** Cuts the connection of a client that does not read the end of its answer. The answer must be ended. */
export const limitLastWait = (response: ServerResponse, msMax: number): void => {
  if (response.writableFinished || response.destroyed) return;
  const stall = new ClientStall(msMax, () => response.destroy());
  stall.begin();
  response.once("close", () => stall.end());
};

/** What is passed to a connection at a time, so that a wait is one for this much. */
const pieceBytes = 64 * 1024;

/** Sends the whole body of an answer, whose header is written, as fast as the client reads it. */
export const sendBody = async (response: ServerResponse, body: Buffer, msMax: number): Promise<void> => {
  const stall = new ClientStall(msMax, () => response.destroy());
  for (let at = 0; at < body.length && !response.destroyed; at += pieceBytes) {
    if (response.write(body.subarray(at, at + pieceBytes))) continue;
    stall.begin();
    await drained(response);
    stall.end();
  }
  response.end();
  limitLastWait(response, msMax);
};
