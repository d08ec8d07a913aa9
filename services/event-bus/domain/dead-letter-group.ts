import { createHash } from "node:crypto";

/** The members of a dead letter that decide to which group it belongs. */
export interface LetterCause {
  /** Empty: the event failed on its bus. */
  readonly ruleArn: string;
  readonly targetArn: string;
  readonly errorCode: string;
  readonly cause: string;
}

/** The longest text of a cause. */
const causeMax = 256;

const uuids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;
/** Longer than the status of an answer; such numbers are ports, sizes and ids. */
const longNumbers = /[0-9]{5,}/g;

/** The part of an error message that letters with the same cause share. */
export const causeOf = (errorMessage: string): string =>
  errorMessage
    .slice(0, 4 * causeMax)
    .replace(uuids, "*")
    .replace(longNumbers, "*")
    .slice(0, causeMax)
    .toWellFormed();

/** The id of the group of letters with a cause: 32 hexadecimal digits. */
export const groupIdOf = ({ ruleArn, targetArn, errorCode, cause }: LetterCause): string =>
  createHash("sha256")
    .update(JSON.stringify([ruleArn, targetArn, errorCode, cause]))
    .digest("hex")
    .slice(0, 32);
