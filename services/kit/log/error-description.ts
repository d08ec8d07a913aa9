/** An error as a log line tells it. */
export interface ErrorDescription {
  readonly type: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly code?: string | number;
  readonly cause?: ErrorDescription;
}

const causesMax = 4;

/**
 * Describes an error for the log: its type, text, stack, code and causes. Whatever else hangs on it stays out, because
 * libraries hang requests, headers and bodies there. Values that are not errors are told by their type.
 */
export const describeError = (thrown: unknown): unknown => describe(thrown, causesMax);

const describe = (thrown: unknown, left: number): unknown => {
  if (!(thrown instanceof Error)) return typeof thrown === "string" ? thrown : typeof thrown;
  const { code } = thrown as { code?: unknown };
  const { cause } = thrown;
  return {
    type: thrown.name,
    message: thrown.message,
    stack: thrown.stack,
    ...(typeof code === "string" || typeof code === "number" ? { code } : {}),
    ...(cause === undefined || left === 0 ? {} : { cause: describe(cause, left - 1) }),
  };
};
