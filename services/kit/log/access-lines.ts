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
    // One text of all members costs half of one text for each.
    const shown = JSON.stringify(members).slice(1, -1);
    output.writeSoon(hideSecrets(opening + timeText(Date.now()) + named + (shown && `,${shown}`) + end));
  };
};

let lastSecond = Number.NaN;
let lastSecondText = "";

/** As `toISOString`; many lines are of the same second. */
const timeText = (ms: number): string => {
  const second = Math.floor(ms / 1_000);
  if (second !== lastSecond) {
    lastSecondText = new Date(second * 1_000).toISOString().slice(0, "2026-11-22T04:05:06.".length);
    lastSecond = second;
  }
  return `${lastSecondText}${String(ms - second * 1_000).padStart(3, "0")}Z`;
};
