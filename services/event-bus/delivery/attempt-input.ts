import { targetInput } from "../domain/input.ts";
import { filledCharactersMax, FilledTooLongError } from "../domain/template.ts";
import type { AttemptOutcome, DeliveryAttempt } from "./connector.ts";

/** The input of an attempt's target, or the outcome of an attempt whose input cannot be made. */
export const attemptInput = (attempt: DeliveryAttempt): string | AttemptOutcome => {
  try {
    const input = targetInput({ ...attempt });
    if (input !== undefined) return input;
    return { kind: "failed", code: "INVALID_JSON", message: "The transformed input is not valid JSON." };
  } catch (error) {
    if (!(error instanceof FilledTooLongError)) throw error;
    const message = `The transformed input is longer than ${filledCharactersMax} characters.`;
    return { kind: "failed", code: "RESOURCE_LIMIT_EXCEEDED", message };
  }
};
