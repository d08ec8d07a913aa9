import { withSourcePositions } from "./source-positions.ts";

const causesMax = 4;
/** Characters of a text of an error; a message may quote what a stranger sent. */
const textLengthMax = 16 * 1024;

/**
 * Describes an error for the log: its type, text, stack, code and causes. Its other members are left out, because
 * libraries put requests, headers and bodies there. Of a value that is not an error only the type is shown.
 */
export const describeError = (thrown: unknown): unknown => describe(thrown, causesMax);

const describe = (thrown: unknown, left: number): unknown => {
  if (!(thrown instanceof Error)) return typeof thrown === "string" ? cut(thrown) : typeof thrown;
  const { code } = thrown as { code?: unknown };
  const { cause } = thrown;
  return {
    type: thrown.name,
    message: cut(thrown.message),
    stack: thrown.stack === undefined ? undefined : withSourcePositions(cut(thrown.stack)),
    ...(typeof code === "string" || typeof code === "number" ? { code } : {}),
    ...(cause === undefined || left === 0 ? {} : { cause: describe(cause, left - 1) }),
  };
};

/** The beginning and the end of a long text; the end of a stack is where the error was thrown. */
const cut = (text: string): string =>
  text.length <= textLengthMax
    ? text
    : `${text.slice(0, textLengthMax / 2)}… (${text.length} characters) …${text.slice(-textLengthMax / 2)}`;
