import type { Transferable } from "node:worker_threads";
import { MessageChannel, Worker } from "node:worker_threads";

import { refusal } from "../refusal.ts";
import type { ScanJob } from "../scan-job.ts";
import type { ScanConnection, ScanExecutor, ScanListener } from "./executor.ts";
import { heapMebibytesMax, scanScript } from "./executor.ts";

/** A thread of this process: bytes are moved to it, not copied. */
export class ScanThread implements ScanExecutor {
  isUsable = true;
  readonly #worker = new Worker(scanScript, {
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: heapMebibytesMax },
  });

  constructor() {
    this.#worker.unref();
    this.#worker.on("error", () => {
      this.isUsable = false;
    });
  }

  begin(job: ScanJob, { onMessage, onFailure }: ScanListener): ScanConnection {
    const { port1, port2 } = new MessageChannel();
    const onError = (error: Error): void => {
      const isMemory = (error as NodeJS.ErrnoException).code === "ERR_WORKER_OUT_OF_MEMORY";
      onFailure(isMemory ? refusal("OVER_MAX_RECORD_SIZE") : error);
    };
    port1.on("message", onMessage);
    this.#worker.on("error", onError);
    this.#worker.postMessage({ job, port: port2 }, [port2]);
    return {
      send: (message) => {
        const bytes = message.kind === "taken" ? undefined : message.bytes;
        const transferred: Transferable[] = bytes === undefined ? [] : [bytes.buffer as ArrayBuffer];
        port1.postMessage(message, transferred);
      },
      close: () => {
        port1.close();
        this.#worker.off("error", onError);
      },
    };
  }

  end(): Promise<unknown> {
    this.isUsable = false;
    return this.#worker.terminate();
  }
}
