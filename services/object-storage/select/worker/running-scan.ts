import type { ErrorReason } from "../../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault } from "../../faults.ts";
import type { ScanFigures, ScannedObject } from "../scanned-object.ts";
import type { ScanJob } from "../scan-job.ts";
import type { ScanConnection, ScanExecutor } from "./executor.ts";
import type { FromScan } from "./messages.ts";

/** A piece of a result, or only the figures so far; the last one has the final figures. */
export interface ScanProgress {
  readonly result: Uint8Array | undefined;
  readonly figures: ScanFigures;
  readonly isEnd: boolean;
}

/** The service's side of one scan: sends the object, piece by piece, and receives the result. */
export class RunningScan {
  readonly #connection: ScanConnection;
  readonly #onSettled: (isWhole: boolean) => void;
  readonly #messages: (FromScan | { readonly kind: "failed" })[] = [];
  #failure: unknown;
  #isSettled = false;
  #onChange: (() => void) | undefined;

  /**
   * Begins the scan. `onSettled` is called once, also while nobody takes the result: the thread or process has nothing
   * to do any more, or, if not all of the scan was done, is to be ended.
   */
  constructor(executor: ScanExecutor, job: ScanJob, onSettled: (isWhole: boolean) => void) {
    this.#onSettled = onSettled;
    this.#connection = executor.begin(job, {
      onMessage: (message) => this.#receive(message),
      onFailure: (error) => this.fail(error),
    });
  }

  /** Gives up what is not done yet. */
  fail(failure: unknown): void {
    if (this.#isSettled) return;
    this.#failure = failure;
    this.#messages.splice(0, Infinity, { kind: "failed" });
    this.#settle(false);
    this.#onChange?.();
  }

  async *progress(object: ScannedObject): AsyncGenerator<ScanProgress> {
    let pieces: AsyncIterator<Uint8Array> | undefined;
    let reading = 0;
    try {
      for (;;) {
        const message = await this.#next();
        switch (message.kind) {
          case "begin":
            await pieces?.return?.();
            pieces = object.pieces(message.from, message.to)[Symbol.asyncIterator]();
            reading = message.reading;
            await this.#sendPiece(reading, pieces);
            break;
          case "more":
            if (message.reading === reading) await this.#sendPiece(reading, pieces);
            break;
          case "result":
            yield { result: message.bytes, figures: message.figures, isEnd: false };
            if (!this.#isSettled) this.#connection.send({ kind: "taken" });
            break;
          case "figures":
            yield { result: undefined, figures: message.figures, isEnd: false };
            break;
          case "end":
            yield { result: undefined, figures: message.figures, isEnd: true };
            return;
          case "refused":
            throw fault(message.reason as ErrorReason, message.metadata);
          case "defect":
            throw new Error(`a scan failed: ${message.message}`);
          case "failed":
            throw this.#failure;
        }
      }
    } finally {
      await pieces?.return?.();
    }
  }

  async #sendPiece(reading: number, pieces: AsyncIterator<Uint8Array> | undefined): Promise<void> {
    const next = await pieces?.next();
    // Pieces are parts of larger buffers, which the scan must not receive.
    const bytes = next === undefined || next.done === true ? undefined : new Uint8Array(next.value);
    if (!this.#isSettled) this.#connection.send({ kind: "piece", reading, bytes });
  }

  #receive(message: FromScan): void {
    this.#messages.push(message);
    if (message.kind === "end" || message.kind === "refused") this.#settle(true);
    this.#onChange?.();
  }

  #settle(isWhole: boolean): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#connection.close();
    this.#onSettled(isWhole);
  }

  async #next(): Promise<FromScan | { readonly kind: "failed" }> {
    for (;;) {
      const message = this.#messages.shift();
      if (message !== undefined) return message;
      await new Promise<void>((resolve) => (this.#onChange = resolve));
    }
  }
}
