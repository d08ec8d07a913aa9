import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";

import type { Call } from "./call.ts";
import type { Dispatcher } from "./dispatch.ts";
import { sendRefusal } from "./large-answer.ts";

/** Sends an answer on a connection; resolves when nothing more of it is sent. Does not reject. */
export type SendElsewhere = (socket: Socket) => Promise<void>;

/** How long an answer waits for the connection that asks for it. */
const waitMsMax = 10_000;

interface KeptAnswer {
  readonly send: SendElsewhere;
  readonly stopWaiting: () => void;
}

/**
 * Answers that are too large for the shared connection of their calls. Each waits for one connection that asks for it
 * by a name that cannot be guessed.
 */
export class Elsewhere {
  readonly #dispatcher: Dispatcher;
  readonly #kept = new Map<string, KeptAnswer>();

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
  }

  /**
   * Keeps an answer until it is asked for. If its call is given up before, `drop` runs, and who asks then gets the
   * refusal. Returns its name.
   */
  keep(call: Call, send: SendElsewhere, drop: () => void): string {
    const name = randomUUID();
    const stopWaiting = this.#dispatcher.later(waitMsMax, () => {
      this.#dispatcher.abandon(call);
      this.#kept.delete(name);
    });
    this.#kept.set(name, { send, stopWaiting });
    call.whenAborted((reason) => {
      if (!this.#kept.has(name)) return;
      drop();
      const error = this.#dispatcher.refuse(call, reason);
      this.#dispatcher.close(call, error);
      this.#kept.set(name, { send: (socket) => sendRefusal(call, error, socket), stopWaiting });
    });
    return name;
  }

  /** What sends the answer of this name; undefined if there is none, or none any more. */
  take(name: string): SendElsewhere | undefined {
    const kept = this.#kept.get(name);
    if (kept === undefined) return undefined;
    this.#kept.delete(name);
    kept.stopWaiting();
    return kept.send;
  }
}
