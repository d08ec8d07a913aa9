import type { Logger as PinoLogger } from "pino";
import { pino } from "pino";

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

/** A logger of one process: JSON lines on standard output, or readable lines on a terminal. Secrets are cut out. */
export const createLogger = (options: LogOptions): Logger => {
  const pretty = options.pretty ?? (process.env["QUARTET_LOG_PRETTY"] === "1" || process.stdout.isTTY);
  return pino({
    name: options.name,
    level: options.level ?? "info",
    base: { name: options.name },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: secretMembers.flatMap((member) => [member, `*.${member}`]), censor: "[hidden]" },
    ...(pretty
      ? {
          transport: {
            target: "pino-pretty",
            options: {
              ignore: "name,pid,hostname",
              messageFormat: "{name}: {msg}",
              translateTime: "HH:MM:ss.l",
              singleLine: true,
            },
          },
        }
      : {}),
  });
};
