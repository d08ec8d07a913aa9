import { STATUS_CODES } from "node:http";

/** An error as a page shows it. */
export interface PageError {
  readonly code: string;
  readonly message: string;
  /** Further members, name and value. */
  readonly members: readonly (readonly [string, string])[];
}

/** A page about an error for people, and about another one that was met while its own document was read. */
export const errorPage = (
  status: number,
  error: PageError,
  ids: readonly (readonly [string, string])[],
  ofDocument: PageError | undefined,
): Buffer => {
  const title = `${status} ${STATUS_CODES[status] ?? ""}`.trim();
  const second =
    ofDocument === undefined
      ? ""
      : `<h3>An Error Occurred While Attempting to Retrieve a Custom Error Document</h3>\n${list(ofDocument, [])}`;
  return Buffer.from(
    `<html>\n<head><title>${title}</title></head>\n<body>\n<h1>${title}</h1>\n${list(error, ids)}${second}<hr/>\n</body>\n</html>\n`,
  );
};

const list = ({ code, message, members }: PageError, ids: readonly (readonly [string, string])[]): string => {
  const lines = [["Code", code], ["Message", message], ...members, ...ids] as const;
  return `<ul>\n${lines.map(([name, value]) => `<li>${escaped(name)}: ${escaped(value)}</li>\n`).join("")}</ul>\n`;
};

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (character) => escapes[character] ?? "");
