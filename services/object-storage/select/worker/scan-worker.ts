import type { MessagePort } from "node:worker_threads";
import { parentPort } from "node:worker_threads";

import { ServiceError } from "../../../kit/faults/service-error.ts";
import { scan } from "../scan.ts";
import type { ScanJob } from "../scan-job.ts";
import type { ScanFigures, ScannedObject } from "../scanned-object.ts";
import type { FromScan, StartMessage, ToProcess, ToScan } from "./messages.ts";
import { resultsInFlightMax } from "./messages.ts";

/** Sends a message to the service; buffers that are named need not be copied. */
type Send = (message: FromScan, transferred?: ArrayBuffer[]) => void;

/** One scan: asks for the object and sends the result. */
class RunningScan {
  readonly #send: Send;
  readonly #pieces: Extract<ToScan, { kind: "piece" }>[] = [];
  #onPiece: (() => void) | undefined;
  #onTaken: (() => void) | undefined;
  #inFlight = 0;
  #readings = 0;

  constructor(send: Send) {
    this.#send = send;
  }

  receive(message: ToScan): void {
    if (message.kind === "taken") {
      this.#inFlight -= 1;
      this.#onTaken?.();
    } else {
      this.#pieces.push(message);
      this.#onPiece?.();
    }
  }

  async run(job: ScanJob): Promise<void> {
    const figures: ScanFigures = { scannedBytes: 0, processedBytes: 0, returnedBytes: 0 };
    try {
      for await (const piece of scan(job, this.#object(job, figures), figures)) {
        const bytes = new Uint8Array(piece);
        this.#send({ kind: "result", bytes, figures }, [bytes.buffer]);
        this.#inFlight += 1;
        while (this.#inFlight >= resultsInFlightMax) await this.#taken();
      }
      this.#send({ kind: "end", figures });
    } catch (error) {
      this.#send(failureOf(error));
    }
  }

  #object(job: ScanJob, figures: ScanFigures): ScannedObject {
    return { sizeBytes: job.sizeBytes, pieces: (from, to) => this.#part(from, to, figures) };
  }

  /** Asks for a piece while the one before is searched. */
  async *#part(from: number, to: number, figures: ScanFigures): AsyncGenerator<Uint8Array> {
    const reading = (this.#readings += 1);
    this.#send({ kind: "begin", reading, from, to });
    for (;;) {
      const piece = await this.#piece();
      // A piece of a reading that was ended early.
      if (piece.reading !== reading) continue;
      if (piece.bytes === undefined) return;
      this.#send({ kind: "figures", figures });
      this.#send({ kind: "more", reading });
      yield piece.bytes;
    }
  }

  async #piece(): Promise<Extract<ToScan, { kind: "piece" }>> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece !== undefined) return piece;
      await new Promise<void>((resolve) => (this.#onPiece = resolve));
    }
  }

  #taken(): Promise<void> {
    return new Promise((resolve) => (this.#onTaken = resolve));
  }
}

const failureOf = (error: unknown): FromScan => {
  if (error instanceof ServiceError) return { kind: "refused", reason: error.facts.number, metadata: error.metadata };
  return { kind: "defect", message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
};

/** Runs scans in this thread, each over a port of its own. */
const serveThread = (parent: MessagePort): void => {
  parent.on("message", ({ job, port }: StartMessage) => {
    const running = new RunningScan((message, transferred = []) => port.postMessage(message, transferred));
    port.on("message", (message: ToScan) => running.receive(message));
    void running.run(job);
  });
};

/** Runs scans in this process, until the one that started it is gone. */
const serveProcess = (): void => {
  let running: RunningScan | undefined;
  let current = 0;
  process.on("message", ({ scan: number, message }: ToProcess) => {
    if (message.kind === "start") {
      current = number;
      running = new RunningScan((answer) => process.send?.({ scan: number, message: answer }));
      void running.run(message.job);
    } else if (number === current) running?.receive(message);
  });
  process.on("disconnect", () => process.exit());
};

if (parentPort === null) serveProcess();
else serveThread(parentPort);
