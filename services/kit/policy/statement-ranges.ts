/** A place in a text: the line, and the column in UTF-16 code units, each from 1. */
interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** From the brace that begins a statement to what follows on the one that ends it. */
export interface StatementRange {
  readonly start: TextPlace;
  readonly end: TextPlace;
}

/** Strings, the marks of JSON's structure, and other values. */
const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g;

/** Where the statements of a policy document stand in its text, in their order. The text is a policy. */
export const statementRanges = (text: string): StatementRange[] => {
  const ranges: StatementRange[] = [];
  const placeOf = placesIn(text);
  let depth = 0;
  let member = "";
  let start: TextPlace | undefined;
  // The depth of a statement's own brace: below the document, or below the list in it.
  let statementDepth = 0;
  for (const { 0: found, index } of text.matchAll(token)) {
    if (found.startsWith('"') && depth === 1) member = found;
    const isOpening = found === "{" || found === "[";
    if (isOpening && depth === 1) statementDepth = found === "{" ? 2 : 3;
    if (isOpening) depth += 1;
    if (found === "{" && depth === statementDepth && member === '"Statement"') start = placeOf(index);
    if (found === "}" && depth === statementDepth && start !== undefined) {
      ranges.push({ start, end: placeOf(index + 1) });
      start = undefined;
    }
    if (found === "}" || found === "]") depth -= 1;
  }
  return ranges;
};

/** Finds the places of ascending offsets. */
const placesIn = (text: string): ((offset: number) => TextPlace) => {
  let line = 1;
  let lineStart = 0;
  return (offset) => {
    for (let next = text.indexOf("\n", lineStart); next !== -1 && next < offset; next = text.indexOf("\n", lineStart)) {
      line += 1;
      lineStart = next + 1;
    }
    return { line, column: offset - lineStart + 1 };
  };
};
