import type { ServerResponse } from "node:http";

import { drained } from "../../kit/wire/drained.ts";

/** A client neither sent nor read anything while it was waited for. */
export class ClientStalledError extends Error {
  override readonly name = "ClientStalledError";

  constructor() {
    super("the client sent nothing for too long");
  }
}

/** Limits each single wait for a client. A connection to a service is of use to nobody else meanwhile. */
export class ClientStall {
  readonly #msMax: number;
  readonly #onStall: () => void;
  #timer: NodeJS.Timeout | undefined;

  /** `onStall` is called once a wait has taken so many milliseconds. */
  constructor(msMax: number, onStall: () => void) {
    this.#msMax = msMax;
    this.#onStall = onStall;
  }

  /** The client is waited for from now on, or is already. */
  begin(): void {
    this.#timer ??= setTimeout(this.#onStall, this.#msMax).unref();
  }

  /** The client did something, or is not waited for. */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** The pieces that a client sends. Throws ClientStalledError if the next one takes longer than so many milliseconds. */
export async function* withoutStalls<T>(source: AsyncIterable<T>, msMax: number): AsyncGenerator<T, void> {
  const pieces = source[Symbol.asyncIterator]();
  let isStalled = false;
  try {
    for (;;) {
      const next = await beforeStall(pieces.next(), msMax);
      if (next.done === true) return;
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
