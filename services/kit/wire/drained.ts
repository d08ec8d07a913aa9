import type { EventEmitter } from "node:events";

/** A stream, or an answer, that is written to. */
interface Written extends EventEmitter {
  readonly destroyed: boolean;
  readonly writableNeedDrain: boolean;
}

/** Resolves when the network has accepted all that was written, or the connection has closed. */
export const drained = (sink: Written): Promise<void> =>
  new Promise((resolve) => {
    if (sink.destroyed || !sink.writableNeedDrain) {
      resolve();
      return;
    }
    const done = () => {
      sink.off("drain", done);
      sink.off("close", done);
      resolve();
    };
    sink.on("drain", done);
    sink.on("close", done);
  });
