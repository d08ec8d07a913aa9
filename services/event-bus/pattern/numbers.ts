import { withoutFinalZeros } from "../../kit/json/decimal-digits.ts";

/**
 * The value of a number's text for comparison, if a double represents it without loss: 10, 10.0 and 1e1 are one number,
 * and so is 0.1. A text that a double would change, such as a 20-digit id, has no value: it equals only the same text.
 */
export const comparableNumber = (text: string): number | undefined => {
  const value = Number(text);
  if (text.length <= 15 && plainShape.test(text)) return value === 0 ? 0 : value;
  if (!Number.isFinite(value)) return undefined;
  return digitsOf(text) === digitsOf(String(value)) ? (value === 0 ? 0 : value) : undefined;
};

const plainShape = /^-?[0-9]+(?:\.[0-9]+)?$/;

/** The significant digits and the power of ten of a decimal: one text for all spellings of a number. */
const digitsOf = (text: string): string => {
  const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = withoutFinalZeros(digits);
  if (significant === "") return "0";
  const power = Number(exponent) - fraction.length + (digits.length - significant.length);
  return `${mantissa.startsWith("-") ? "-" : ""}${significant}e${power}`;
};
