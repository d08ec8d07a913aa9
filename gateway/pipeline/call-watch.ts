import { Code, ConnectError } from "@connectrpc/connect";

import type { ServiceHealth } from "../../services/kit/client/service-health.ts";
import { hangingError } from "../../services/kit/client/service-health.ts";
import type { HttpExchange } from "./exchange.ts";

/**
 * Gives a call up when the next step of its service takes too long: to take a message, to answer, or to go on with its
 * answer. One step is awaited at a time.
 */
export class CallWatch {
  readonly #exchange: Pick<HttpExchange, "giveUp">;
  readonly #health: Pick<ServiceHealth, "onHanging"> | undefined;
  #stopWaiting: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** The exchange is given up when a step takes too long. The health, if any, is the service's. */
  constructor(exchange: Pick<HttpExchange, "giveUp">, health: Pick<ServiceHealth, "onHanging"> | undefined) {
    this.#exchange = exchange;
    this.#health = health;
  }

  /** The service is to begin its answer within this time, in milliseconds, and must not be found hanging meanwhile. */
  expectAnswer(ms: number): void {
    this.expect(ms);
    this.#stopWaiting ??= this.#health?.onHanging(() => this.#exchange.giveUp(hangingError()));
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
    this.#stopWaiting?.();
    this.#stopWaiting = undefined;
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
