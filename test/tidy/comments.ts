/** One line of a file that holds a comment, and its text. */
export interface CommentLine {
  readonly line: number;
  readonly text: string;
  /** The whole line, with the code before the comment. */
  readonly whole: string;
}

/** The comments of a TypeScript or proto file, line by line. A comment after code counts if `//` is not in a string. */
export const commentsOf = (content: string): CommentLine[] =>
  content.split("\n").flatMap((whole, index) => {
    const text = /^\s*(?:\/\/|\/\*|\*(?:\s|\/|$))/.test(whole) ? whole.trim() : trailing(whole);
    return text === undefined ? [] : [{ line: index + 1, text, whole }];
  });

const trailing = (whole: string): string | undefined => {
  const match = /^(.*?\S)\s+(\/\/\s.*)$/.exec(whole);
  const isInString = (match?.[1]?.match(/["'`]/g)?.length ?? 0) % 2 === 1;
  return isInString ? undefined : match?.[2];
};

/** A file's code: its text, line by line, with the comments left out. */
export const codeOf = (content: string): string => {
  const lines = content.split("\n");
  for (const { line, text, whole } of commentsOf(content))
    lines[line - 1] = whole.trim() === text ? "" : whole.slice(0, whole.length - text.length);
  return lines.join("\n");
};
