import type { DestinationStream, LoggerOptions, Logger as PinoLogger } from "pino";
import { pino } from "pino";

import { currentTrace } from "../trace/current-trace.ts";
import { describeError } from "./error-description.ts";
import { hideSecrets } from "./secret-text.ts";

export type Logger = PinoLogger;

/** How one process logs. */
interface LogOptions {
  /** The process or service that logs. */
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
 * A logger of one process: JSON lines on standard output, or readable lines on a terminal. A line that is written
 * during a call carries its `trace_id`.
 *
 * Secrets are kept out in four ways: members with secret names are hidden; of a protobuf message only the type is shown
 * (`loggable` shows more); of an error only text, stack, code and causes; and tokens, signatures and keys are removed
 * from texts.
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
 * Standard output, to which another thread writes the lines in order; the remaining ones are written at exit. It has no
 * flush for pino to call after a fatal line: that would write the fatal line before those still being written.
 */
const standardOutput = (): DestinationStream => {
  const destination = pino.destination({ dest: process.stdout.fd, sync: false });
  return { write: (line) => void destination.write(line) };
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
