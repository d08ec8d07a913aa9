import { createRequire } from "node:module";

import type { DestinationStream, Logger as PinoLogger } from "pino";
import { pino } from "pino";
import type { prettyFactory as PrettyFactory } from "pino-pretty";

import { currentTrace } from "../trace/current-trace.ts";
import { describeError } from "./error-description.ts";
import { LogDestination, openStandardOutput } from "./log-destination.ts";
import { hideSecrets } from "./secret-text.ts";

export type Logger = PinoLogger;

/** How one process logs. */
interface LogOptions {
  /** The process or service that logs. */
  readonly name: string;
  /** fatal, error, warn, info, debug, trace or silent. Unset: info. */
  readonly level?: string;
  /** Lines for people instead of JSON. Unset: if standard output is a terminal or QUARTET_LOG_PRETTY is 1. */
  readonly pretty?: boolean;
}

/** Members whose values are never logged, at the top and one level down. */
const secretMembers = [
  "authorization",
  "secretAccessKey",
  "privateKey",
  "token",
  "password",
  "secret",
  "signature",
  "clientSecret",
  "apiKeyValue",
];

/**
 * A logger of one process: JSON lines on standard output, or readable lines on a terminal. A line that is written
 * during a call carries its `trace_id`.
 *
 * Secrets stay out in four ways: members with certain names are hidden; a protobuf message is logged as its type alone
 * (`loggable` shows more of it); errors are logged as message, stack and cause, without their other properties; and
 * tokens, signatures and keys are removed from texts.
 */
export const createLogger = (options: LogOptions): Logger => {
  const isPretty = options.pretty ?? (process.env["QUARTET_LOG_PRETTY"] === "1" || process.stdout.isTTY);
  const output = standardOutput();
  const log = pino(
    {
      name: options.name,
      level: options.level ?? "info",
      base: { name: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      mixin: traceMembers,
      serializers: { err: describeError, error: describeError, cause: describeError },
      formatters: { log: withoutMessages },
      hooks: { streamWrite: hideSecrets },
      redact: { paths: secretMembers.flatMap((member) => [member, `*.${member}`]), censor: "[hidden]" },
    },
    isPretty ? prettified(output) : output,
  );
  if (!isPretty) lineOutputs.set(log, { name: options.name, output });
  return log;
};

/** Where a logger writes its lines, and the name in them. */
interface LineOutput {
  readonly name: string;
  readonly output: LogDestination;
}

const lineOutputs = new WeakMap<Logger, LineOutput>();

/** The output of a logger whose lines are JSON on standard output; undefined for any other. */
export const findLineOutput = (log: Logger): LineOutput | undefined => lineOutputs.get(log);

/** The most that waits, over all loggers, while standard output accepts nothing. */
const waitingBytesMax = 4 * 1024 * 1024;

let destination: LogDestination | undefined;

/** One for all loggers of a process, so that their lines do not mix. */
const standardOutput = (): LogDestination => {
  destination ??= new LogDestination({ descriptor: openStandardOutput(), waitingBytesMax, droppedLine });
  return destination;
};

const droppedLine = (dropped: number): string => {
  const msg = "log lines were dropped while the output accepted none";
  return `${JSON.stringify({ level: 40, time: new Date().toISOString(), dropped, msg })}\n`;
};

/** Lines for people. Formatted here and not in a thread, which could lag or end by itself. */
const prettified = (output: LogDestination): DestinationStream => {
  // Loaded only here: without a terminal no process needs it.
  const { prettyFactory } = createRequire(import.meta.url)("pino-pretty") as { prettyFactory: typeof PrettyFactory };
  const prettify = prettyFactory({
    ignore: "name,pid,hostname",
    messageFormat: "{name}: {msg}",
    translateTime: "HH:MM:ss.l",
    singleLine: true,
    colorize: process.stdout.hasColors?.() ?? false,
  });
  return {
    write: (line: string) => output.write(prettify(line)),
    flush: (done: () => void) => output.flush(done),
    flushSync: () => output.flushSync(),
  } as DestinationStream;
};

const traceMembers = (): object => {
  const trace = currentTrace();
  return trace === undefined ? {} : { trace_id: trace.traceId };
};

/** A whole message may hold anything, so only its type is logged. */
const withoutMessages = (members: Record<string, unknown>): Record<string, unknown> => {
  if (!Object.values(members).some(isMessage)) return members;
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, isMessage(value) ? value.$typeName : value]),
  );
};

const isMessage = (value: unknown): value is { $typeName: string } =>
  typeof value === "object" && value !== null && "$typeName" in value;
