import type { ConnectError } from "@connectrpc/connect";
import type { Dispatcher } from "undici";

import type { CallEnd } from "./call-end.ts";
import { watchCallEnd } from "./call-end.ts";
import { connectionError } from "./connect-answer.ts";

/** One call in the Connect protocol on its connection: how it ends and how it is aborted. */
export abstract class ConnectCall implements Dispatcher.DispatchHandler {
  isOver = false;
  #end: CallEnd | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #givenUp: ConnectError | undefined;

  /** Ends the call with an error and aborts its request, also one that has not started. */
  fail(error: unknown): void {
    if (this.isOver) return;
    this.#givenUp = connectionError(error);
    this.finish(this.#givenUp);
    this.#controller?.abort(this.#givenUp);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#givenUp !== undefined) controller.abort(this.#givenUp);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.finish(connectionError(error));
  }

  /** Fails the call at its deadline and with its signal. Must be a constructor's last step, as it may fail at once. */
  protected watch(signal: AbortSignal | undefined, timeoutMs: number | undefined): void {
    this.#end = watchCallEnd(signal, timeoutMs, (error) => this.fail(error));
  }

  protected pause(): void {
    this.#controller?.pause();
  }

  protected resume(): void {
    this.#controller?.resume();
  }

  /** Ends the call; only the first end counts. */
  protected finish(error: ConnectError | undefined): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#end?.release();
    this.onFinish(error);
  }

  protected abstract onFinish(error: ConnectError | undefined): void;
}
