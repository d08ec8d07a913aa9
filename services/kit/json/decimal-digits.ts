/**
 * Digits without the zeros at their end. The expression for it, `/0+$/`, looks for the end of the text again from each
 * zero, in time that grows with the square of a long run of them.
 */
export const withoutFinalZeros = (digits: string): string => {
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  return digits.slice(0, end);
};
