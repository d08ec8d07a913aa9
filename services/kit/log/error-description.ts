import { withSourcePositions } from "./source-positions.ts";

const causesMax = 4;

/**
 * Describes an error for the log: its type, text, stack, code and causes. Its other members are left out, because
 * libraries put requests, headers and bodies there. Of a value that is not an error only the type is shown.
 */
export const describeError = (thrown: unknown): unknown => describe(thrown, causesMax);

const describe = (thrown: unknown, left: number): unknown => {
  if (!(thrown instanceof Error)) return typeof thrown === "string" ? thrown : typeof thrown;
  const { code } = thrown as { code?: unknown };
  const { cause } = thrown;
  return {
    type: thrown.name,
    message: thrown.message,
    stack: thrown.stack === undefined ? undefined : withSourcePositions(thrown.stack),
    ...(typeof code === "string" || typeof code === "number" ? { code } : {}),
    ...(cause === undefined || left === 0 ? {} : { cause: describe(cause, left - 1) }),
  };
};
