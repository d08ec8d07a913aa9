import type { DestinationStream, LoggerOptions, Logger as PinoLogger } from "pino";
import { pino } from "pino";

import { currentTrace } from "../trace/current-trace.ts";
import { describeError } from "./error-description.ts";
import { hideSecrets } from "./secret-text.ts";

export type Logger = PinoLogger;

/** How one process logs. */
export interface LogOptions {
  /** The process or service that speaks. */
  readonly name: string;
  /** fatal, error, warn, info, debug, trace or silent. Unset: info. */
  readonly level?: string;
  /** Lines for people instead of JSON. Unset: when standard output is a terminal or the launcher asks for it. */
  readonly pretty?: boolean;
}

/** Member names whose values never appear in a line, at the top and one level down. */
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
 * A logger of one process: JSON lines on standard output, or readable lines on a terminal. A line that is written in the
 * course of a call carries its `trace_id`.
 *
 * Secrets stay out in four ways: members with their names are hidden; a protobuf message is told by its type alone
 * (`loggable` tells more of it); errors are told by their text, stack and cause, without what else hangs on them; and
 * tokens, signatures and keys that stand in a text are cut out of it.
 */
export const createLogger = (options: LogOptions): Logger => {
  const pretty = options.pretty ?? (process.env["QUARTET_LOG_PRETTY"] === "1" || process.stdout.isTTY);
  const settings: LoggerOptions = {
    name: options.name,
    level: options.level ?? "info",
    base: { name: options.name },
    timestamp: pino.stdTimeFunctions.isoTime,
    mixin: traceMembers,
    serializers: { err: describeError, error: describeError, cause: describeError },
    formatters: { log: withoutMessages },
    hooks: { streamWrite: hideSecrets },
    redact: { paths: secretMembers.flatMap((member) => [member, `*.${member}`]), censor: "[hidden]" },
  };
  return pretty ? pino({ ...settings, transport: prettyTransport }) : pino(settings, standardOutput());
};

const prettyTransport = {
  target: "pino-pretty",
  options: {
    ignore: "name,pid,hostname",
    messageFormat: "{name}: {msg}",
    translateTime: "HH:MM:ss.l",
    singleLine: true,
  },
};

/**
 * Lines on standard output, written in their order by another thread; what is left at the exit is written by then. After
 * each fatal line pino flushes a destination that can be flushed, which would write it before the lines that are still on
 * their way, so it sees only `write`.
 */
const standardOutput = (): DestinationStream => {
  const destination = pino.destination({ dest: process.stdout.fd, sync: false });
  return { write: (line) => void destination.write(line) };
};

const traceMembers = (): object => {
  const trace = currentTrace();
  return trace === undefined ? {} : { trace_id: trace.traceId };
};

/** A message that somebody logs whole may hold anything, so only its type is told. */
const withoutMessages = (members: Record<string, unknown>): Record<string, unknown> => {
  if (!Object.values(members).some(isMessage)) return members;
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, isMessage(value) ? value.$typeName : value]),
  );
};

const isMessage = (value: unknown): value is { $typeName: string } =>
  typeof value === "object" && value !== null && "$typeName" in value;
