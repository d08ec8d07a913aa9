/** A text that is not a valid pattern. */
export class PatternError extends Error {
  override readonly name = "PatternError";
  /** The position of the error in the pattern's text, in UTF-16 units; undefined: unknown. */
  readonly offset: number | undefined;

  constructor(reason: string, offset?: number) {
    super(reason);
    this.offset = offset;
  }
}

/** The message for callers: the reason on the first line, its position on the second. */
export const describePatternError = (error: PatternError, source: string): string => {
  if (error.offset === undefined) return error.message;
  const before = source.slice(0, error.offset).split("\n");
  return `${error.message}\n at line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
};
