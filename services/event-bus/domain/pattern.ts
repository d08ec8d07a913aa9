import { ErrorReason, fault } from "../faults.ts";
import type { Pattern } from "../pattern/parse.ts";
import { parsePattern } from "../pattern/parse.ts";
import { describePatternError, PatternError } from "../pattern/pattern-error.ts";

/** Parses a pattern from a request. Throws INVALID_EVENT_PATTERN. */
export const parseRequestPattern = (source: string): Pattern => {
  try {
    return parsePattern(source);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw fault(ErrorReason.INVALID_EVENT_PATTERN, { reason: describePatternError(error, source) });
  }
};
