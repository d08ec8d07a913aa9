import { createHash } from "node:crypto";

/** Hexadecimal digits of an upload id: its instant, random ones, and some of the key's hash. */
const instantDigits = 12;
const keyDigits = 8;
/** How many random digits an upload id has. */
export const uploadIdRandomDigits = 24;

/**
 * The id of an upload that starts now. It begins with the instant, so that the uploads of a key are listed oldest
 * first, and ends with what says which key it can belong to.
 */
export const uploadIdOf = (key: string, nowMs: number, random: string): string =>
  nowMs.toString(16).padStart(instantDigits, "0") + random + keyDigitsOf(key);

/** Whether the text is the id of an upload of this key, open or not. */
export const isUploadIdOf = (key: string, text: string): boolean =>
  /^[0-9a-f]{44}$/.test(text) && text.endsWith(keyDigitsOf(key));

const keyDigitsOf = (key: string): string => createHash("sha256").update(key).digest("hex").slice(0, keyDigits);
