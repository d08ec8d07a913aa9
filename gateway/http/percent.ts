/** A path or query that is not percent-encoded UTF-8. */
export class MalformedUriError extends Error {
  override readonly name = "MalformedUriError";

  constructor() {
    super("Couldn't parse the specified URI.");
  }
}

/** Decodes percent escapes, and bytes that stand there unescaped, as UTF-8. Throws MalformedUriError. */
export const decodePercent = (text: string): string => {
  const isAscii = !nonAscii.test(text);
  if (isAscii && !text.includes("%")) return text;
  try {
    return decodeURIComponent(isAscii ? text : text.replaceAll(nonAsciiEach, escapeByte));
  } catch {
    throw new MalformedUriError();
  }
};

// The platform gives each byte of a request target as one character.
const nonAscii = /[\x80-\xff]/;
const nonAsciiEach = /[\x80-\xff]/g;

const escapeByte = (character: string): string => `%${character.charCodeAt(0).toString(16)}`;
