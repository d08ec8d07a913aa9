import { withoutFinalZeros } from "../../kit/json/decimal-digits.ts";

/** How values of a search key are compared. */
export type Comparison = "STRING" | "NUMBER" | "PHONE_NUMBER" | "EMAIL_ADDRESS" | "NAME";

/** The normal form of a value: two values are equal exactly if their normal forms are the same text. */
export const normalize = (comparison: Comparison, text: string): string => normalizers[comparison](text);

/**
 * The digits of a phone number. The international prefix 00 or 011 counts as `+`, and the country code 1 is left out,
 * so that +15551234567, 1 555 123 4567 and (555)-123-4567 are equal. Text without digits is compared as a name.
 */
const normalizePhone = (text: string): string => {
  const compatible = compatibleForm(text);
  const digits = compatible.replace(/[^0-9]/g, "");
  if (digits === "") return normalizeName(text);
  const hasPlus = /^[^0-9]*\+/.test(compatible);
  const international = hasPlus ? digits : digits.replace(/^(?:011|00)(?=\d{8})/, "");
  return /^1[2-9]\d{9}$/.test(international) ? international.slice(1) : international;
};

const asciiText = /^[ -~]*$/;

/**
 * The text without differences that only compatibility characters make. One of them may stand for 18 others, so a text
 * that no search can name keeps them.
 */
const compatibleForm = (text: string): string => {
  if (asciiText.test(text)) return text;
  return text.length > compatibleLengthMax ? composedForm(text) : streamSafe(text).normalize("NFKC");
};

/** Values of searches and of keys that are added by hand have at most 255 characters. */
const compatibleLengthMax = 1_000;

const composedForm = (text: string): string => (asciiText.test(text) ? text : streamSafe(text).normalize("NFC"));

/**
 * The text in Unicode's Stream-Safe Text Format (UAX #15, D4): a grapheme joiner ends each 30 marks in a row, because
 * marks in a row are brought into an order in quadratic time. U+FF9E and U+FF9F become marks, too.
 */
const streamSafe = (text: string): string => text.replace(marksInRow, "$&\u034f");

const marksInRow = /[\p{M}\uff9e\uff9f]{30}/gu;

const normalizeEmail = (text: string): string => composedForm(text.trim()).toLowerCase();

const normalizeName = (text: string): string => compatibleForm(text).trim().replace(/\s+/g, " ").toLowerCase();

/** A decimal number without signs and zeros that do not change its value; any other text unchanged. */
const normalizeNumber = (text: string): string => {
  const match = /^\s*([+-]?)(\d+)(?:\.(\d*))?\s*$/.exec(text);
  if (match === null) return text;
  const [, sign, digits = "", decimals = ""] = match;
  const whole = digits.replace(/^0+(?=\d)/, "");
  const fraction = withoutFinalZeros(decimals);
  const magnitude = fraction === "" ? whole : `${whole}.${fraction}`;
  return sign === "-" && magnitude !== "0" ? `-${magnitude}` : magnitude;
};

const normalizers: Readonly<Record<Comparison, (text: string) => string>> = {
  STRING: (text) => text,
  NUMBER: normalizeNumber,
  PHONE_NUMBER: normalizePhone,
  EMAIL_ADDRESS: normalizeEmail,
  NAME: normalizeName,
};
