/** A statement of the documents, and the test that shows it. */
export interface CoverageRow {
  /** Section, and number or name of the statement in it. */
  readonly id: string;
  /** The statement in one sentence. */
  readonly says: string;
  readonly shownBy: Shown | "pending";
}

/** A test in a file of this repository. */
export interface Shown {
  /** From the root of the repository. */
  readonly file: string;
  /** The block that the test stands in; undefined: none is named. */
  readonly block: string | undefined;
  /** The test's name as it is written, with the placeholders of its table. */
  readonly test: string;
}

/**
 * Reads rows from a text, one a line: `id | what it says | file > block > test`, or `pending` in the last place. Files
 * are those of the service's own tests, or from `test/` when they begin with a slash.
 */
export const readRows = (service: string, text: string): CoverageRow[] =>
  text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [id, says, shownBy, ...rest] = line.split(" | ").map((part) => part.trim());
      if (id === undefined || says === undefined || shownBy === undefined || rest.length > 0)
        throw new Error(`no row: ${line}`);
      return { id, says, shownBy: shownBy === "pending" ? shownBy : readShown(service, shownBy) };
    });

const readShown = (service: string, text: string): Shown => {
  const parts = text.split(" > ");
  const [path, first, second] = parts;
  if (path === undefined || first === undefined || parts.length > 3) throw new Error(`no test: ${text}`);
  const file = path.startsWith("/") ? `test${path}` : `test/${service}/${path}`;
  return second === undefined ? { file, block: undefined, test: first } : { file, block: first, test: second };
};

/**
 * Finds the test of a row in its file's text: written in quotes where a call begins, in the named block. Python tests
 * are functions of their own.
 */
export const findTest = (content: string, { block, test }: Pick<Shown, "block" | "test">): boolean => {
  if (content.includes(`def ${test}(`)) return true;
  const start = block === undefined ? 0 : indexOfCall(content, block);
  if (start === -1) return false;
  const next = block === undefined ? -1 : content.indexOf("\ndescribe", start + 1);
  return indexOfCall(content.slice(start, next === -1 ? undefined : next), test) !== -1;
};

const indexOfCall = (content: string, name: string): number => {
  const quoted = [JSON.stringify(name), `'${name}'`, `\`${name}\``];
  const found = quoted
    .flatMap((text) => [
      content.indexOf(`(${text}`),
      content.indexOf(`(\n  ${text}`),
      content.indexOf(`(\n    ${text}`),
      content.indexOf(`(\n      ${text}`),
    ])
    .filter((index) => index !== -1);
  return found.length === 0 ? -1 : Math.min(...found);
};
