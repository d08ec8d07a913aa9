import type { Logger } from "./log.ts";
import { findLineOutput } from "./log.ts";
import { hideSecrets } from "./secret-text.ts";

/** The members of an access log line in their order. Undefined ones are left out. */
export type AccessLineMembers = Readonly<Record<string, string | number | boolean | undefined>>;

const levelInfo = 30;

/**
 * Returns the writer of an access log: lines at level info with this message, as `log.info(members, message)` writes
 * them. A line per request is a large part of a small request's cost, so these lines are assembled without the search
 * for members that must not be logged, and written to the output together: up to 20 ms later, and never after a line
 * that follows. The members must therefore hold no secret but in a text, from which it is removed.
 */
export const accessLines = (log: Logger, message: string): ((members: AccessLineMembers) => void) => {
  const found = findLineOutput(log);
  if (found === undefined) return (members) => log.info(members, message);
  const { name, output } = found;
  const opening = `{"level":${levelInfo},"time":"`;
  const named = `","name":${JSON.stringify(name)}`;
  const end = `,"msg":${JSON.stringify(message)}}\n`;
  return (members) => {
    if (!log.isLevelEnabled("info")) return;
    let line = opening + new Date().toISOString() + named;
    for (const member in members) {
      const value = members[member];
      if (value !== undefined) line += `,"${member}":${typeof value === "string" ? JSON.stringify(value) : value}`;
    }
    output.writeSoon(hideSecrets(line + end));
  };
};
