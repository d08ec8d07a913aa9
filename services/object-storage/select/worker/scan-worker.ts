import type { MessagePort } from "node:worker_threads";
import { parentPort } from "node:worker_threads";

import { ServiceError } from "../../../kit/faults/service-error.ts";
import type { ScanFigures, ScannedObject } from "../scan.ts";
import { scan } from "../scan.ts";
import type { ScanJob } from "../scan-job.ts";
import type { FromScan, StartMessage, ToScan } from "./messages.ts";
import { resultsInFlightMax } from "./messages.ts";

/** One scan in this thread: asks for the object and sends the result, both over the port of its job. */
class RunningScan {
  readonly #port: MessagePort;
  readonly #answers: ToScan[] = [];
  #onAnswer: (() => void) | undefined;
  #onTaken: (() => void) | undefined;
  #inFlight = 0;
  #readings = 0;

  constructor(port: MessagePort) {
    this.#port = port;
    port.on("message", (message: ToScan) => {
      if (message.kind === "taken") {
        this.#inFlight -= 1;
        this.#onTaken?.();
      } else {
        this.#answers.push(message);
        this.#onAnswer?.();
      }
    });
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
    return {
      sizeBytes: job.sizeBytes,
      pieces: (from) => this.#pieces(from, figures),
      read: (start, end) => this.#part(start, end),
    };
  }

  /** Asks for a piece while the one before is searched. */
  async *#pieces(from: number, figures: ScanFigures): AsyncGenerator<Uint8Array> {
    const reading = (this.#readings += 1);
    this.#send({ kind: "begin", reading, from });
    for (;;) {
      const answer = await this.#answer();
      // A piece of a reading that was ended early.
      if (answer.kind !== "piece" || answer.reading !== reading) continue;
      if (answer.bytes === undefined) return;
      this.#send({ kind: "figures", figures });
      this.#send({ kind: "more", reading });
      yield answer.bytes;
    }
  }

  async #part(start: number, end: number): Promise<Uint8Array> {
    this.#send({ kind: "read", start, end });
    const answer = await this.#answer();
    if (answer.kind !== "part") throw new Error("a scan received something else than what it asked for");
    return answer.bytes;
  }

  #send(message: FromScan, transferred: ArrayBuffer[] = []): void {
    this.#port.postMessage(message, transferred);
  }

  async #answer(): Promise<ToScan> {
    while (this.#answers.length === 0) await new Promise<void>((resolve) => (this.#onAnswer = resolve));
    return this.#answers.shift() as ToScan;
  }

  #taken(): Promise<void> {
    return new Promise((resolve) => (this.#onTaken = resolve));
  }
}

const failureOf = (error: unknown): FromScan => {
  if (error instanceof ServiceError) return { kind: "refused", reason: error.facts.number, metadata: error.metadata };
  return { kind: "defect", message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
};

parentPort?.on("message", ({ job, port }: StartMessage) => {
  void new RunningScan(port).run(job);
});
