/** A pattern that is not in the language. */
export class PatternError extends Error {
  override readonly name = "PatternError";
  /** Where in the pattern's text, in UTF-16 units; undefined: nowhere in particular. */
  readonly offset: number | undefined;

  constructor(reason: string, offset?: number) {
    super(reason);
    this.offset = offset;
  }
}

/** What callers are told: the reason on the first line, where it is on the second. */
export const describePatternError = (error: PatternError, source: string): string => {
  if (error.offset === undefined) return error.message;
  const before = source.slice(0, error.offset).split("\n");
  return `${error.message}\n at line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
};
