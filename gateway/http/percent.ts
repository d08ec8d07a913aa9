import { ErrorReason, refusal } from "../refusal.ts";

/** Decodes percent escapes, and bytes that are not escaped, as UTF-8. Throws MALFORMED_URI. */
export const decodePercent = (text: string): string => {
  const isAscii = !nonAscii.test(text);
  if (isAscii && !text.includes("%")) return text;
  try {
    return decodeURIComponent(isAscii ? text : text.replaceAll(nonAsciiEach, escapeByte));
  } catch {
    throw refusal(ErrorReason.MALFORMED_URI);
  }
};

// Node.js represents each byte of a request target by one character.
const nonAscii = /[\x80-\xff]/;
const nonAsciiEach = /[\x80-\xff]/g;

const escapeByte = (character: string): string => `%${character.charCodeAt(0).toString(16)}`;
