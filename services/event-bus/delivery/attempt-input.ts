import { targetInput } from "../domain/input.ts";
import { FilledTooLongError } from "../domain/template.ts";
import { PathsTooCostlyError } from "../json/json-path.ts";
import type { AttemptOutcome, DeliveryAttempt } from "./connector.ts";

/**
 * The input of an attempt's target, or the outcome of an attempt whose input is not JSON. Throws the errors of
 * `outcomeOfInputError`.
 */
export const attemptInput = (attempt: DeliveryAttempt): string | AttemptOutcome =>
  targetInput({ ...attempt }) ?? {
    kind: "failed",
    code: "INVALID_JSON",
    message: "The transformed input is not valid JSON.",
  };

/** The outcome of an attempt whose request is too large, or takes too long to make; undefined for other errors. */
export const outcomeOfInputError = (error: unknown): AttemptOutcome | undefined => {
  if (!isInputError(error)) return undefined;
  const message = `The delivery cannot be made: ${error.message}.`;
  return { kind: "failed", code: "RESOURCE_LIMIT_EXCEEDED", message };
};

/** Whether an input cannot be made because it is too large, or its paths too costly. */
export const isInputError = (error: unknown): error is FilledTooLongError | PathsTooCostlyError =>
  error instanceof FilledTooLongError || error instanceof PathsTooCostlyError;
