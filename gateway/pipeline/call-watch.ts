import { Code, ConnectError } from "@connectrpc/connect";

import { hangingError } from "../../services/kit/client/service-health.ts";
import type { HttpExchange } from "./exchange.ts";

/**
 * Gives a call up when the next step of its service takes too long: to take a message, to answer, or to go on with its
 * answer. One step is awaited at a time.
 */
export class CallWatch {
  readonly #exchange: Pick<HttpExchange, "giveUp">;
  readonly #hanging: AbortSignal | undefined;
  readonly #giveUp = (): void => this.#exchange.giveUp(hangingError());
  #timer: NodeJS.Timeout | undefined;

  /** The exchange is given up when a step takes too long. The signal, if any, shows that the service hangs. */
  constructor(exchange: Pick<HttpExchange, "giveUp">, hanging: AbortSignal | undefined) {
    this.#exchange = exchange;
    this.#hanging = hanging;
  }

  /** The service is to begin its answer within this time, in milliseconds, and must not be found hanging meanwhile. */
  expectAnswer(ms: number): void {
    this.expect(ms);
    if (this.#hanging?.aborted === true) this.#giveUp();
    else this.#hanging?.addEventListener("abort", this.#giveUp);
  }

  /** The service's next step begins, and may take this time in milliseconds. */
  expect(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#exchange.giveUp(lateError()), ms);
    this.#timer.unref();
  }

  /** The service has done its step. */
  rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#hanging?.removeEventListener("abort", this.#giveUp);
  }

  /** The rest of an answer, each message of which may take this time. */
  watched<T>(answers: AsyncIterator<T>, ms: number): AsyncIterator<T> {
    return {
      next: async () => {
        this.expect(ms);
        try {
          return await answers.next();
        } finally {
          this.rest();
        }
      },
      return: async () => {
        this.rest();
        return (await answers.return?.()) ?? { done: true, value: undefined };
      },
    };
  }
}

const lateError = (): ConnectError => new ConnectError("the service took too long", Code.DeadlineExceeded);
