import { Writable } from "node:stream";

import { pino } from "pino";

import type { Logger } from "../../services/kit/log/log.ts";

/** A logger whose lines a test reads. */
export interface CapturingLogger {
  readonly log: Logger;
  readonly lines: readonly Readonly<Record<string, unknown>>[];
}

/** Keeps all lines from a level on. */
export const capturingLogger = (level = "trace"): CapturingLogger => {
  const lines: Record<string, unknown>[] = [];
  const stream = new Writable({
    write: (line: Buffer, _encoding, done) => {
      lines.push(JSON.parse(line.toString("utf8")) as Record<string, unknown>);
      done();
    },
  });
  return { log: pino({ level, base: null }, stream), lines };
};
