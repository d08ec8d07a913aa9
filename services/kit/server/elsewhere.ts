import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

import { elsewherePath } from "../wire/shared-frames.ts";
import type { Call } from "./call.ts";
import type { Dispatcher } from "./dispatch.ts";

/** Sends an answer to the request that asks for it. */
export type SendElsewhere = (request: IncomingMessage, response: ServerResponse) => void;

/** How long an answer waits for the request that asks for it. */
const waitMsMax = 10_000;

interface KeptAnswer {
  readonly send: SendElsewhere;
  readonly stopWaiting: () => void;
}

/**
 * Answers that are too large for the shared connection of their calls. Each waits for one request over HTTP/1.1, whose
 * path has a name that cannot be guessed.
 */
export class Elsewhere {
  readonly #dispatcher: Dispatcher;
  readonly #kept = new Map<string, KeptAnswer>();

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
  }

  /** Keeps an answer until it is asked for, or until its call is given up: then `drop` runs. Returns its name. */
  keep(call: Call, send: SendElsewhere, drop: () => void): string {
    const name = randomUUID();
    const stopWaiting = this.#dispatcher.later(waitMsMax, () => this.#dispatcher.abandon(call));
    this.#kept.set(name, { send, stopWaiting });
    call.whenAborted((reason) => {
      if (this.#release(name) === undefined) return;
      drop();
      this.#dispatcher.close(call, this.#dispatcher.refuse(call, reason));
    });
    return name;
  }

  /** Answers a request for a kept answer. Returns whether it was one. */
  take(request: IncomingMessage, response: ServerResponse): boolean {
    const { url = "" } = request;
    if (!url.startsWith(elsewherePath)) return false;
    const send = this.#release(url.slice(elsewherePath.length));
    request.resume();
    if (send === undefined) response.writeHead(404, { "content-length": 0 }).end();
    else send(request, response);
    return true;
  }

  #release(name: string): SendElsewhere | undefined {
    const kept = this.#kept.get(name);
    if (kept === undefined) return undefined;
    this.#kept.delete(name);
    kept.stopWaiting();
    return kept.send;
  }
}
