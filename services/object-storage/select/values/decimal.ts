/** A number with an exact fraction: `unscaled` / 10 ** `scale`. */
export interface Decimal {
  readonly unscaled: bigint;
  /** From 0 on. */
  readonly scale: number;
}

/** Digits that a decimal number has at most; results are rounded half away from zero to so many. */
export const decimalDigitsMax = 38;

/** The decimal of an optionally signed number with an optional fraction and no exponent. The text must be one. */
export const decimalOf = (text: string): Decimal => {
  const point = text.indexOf(".");
  if (point === -1) return { unscaled: BigInt(text), scale: 0 };
  const digits = text.slice(0, point) + text.slice(point + 1);
  return { unscaled: BigInt(digits.startsWith("+") ? digits.slice(1) : digits), scale: text.length - point - 1 };
};

/** The decimal that a float is nearest to, as it is written; undefined if it is not finite. */
export const decimalOfFloat = (float: number): Decimal | undefined => {
  if (!Number.isFinite(float)) return undefined;
  const [mantissa = "", exponent = "0"] = String(float).split("e");
  const { unscaled, scale } = decimalOf(mantissa);
  const places = scale - Number(exponent);
  return places >= 0 ? { unscaled, scale: places } : { unscaled: unscaled * power(-places), scale: 0 };
};

export const decimalText = ({ unscaled, scale }: Decimal): string => {
  if (scale === 0) return String(unscaled);
  const isNegative = unscaled < 0n;
  const digits = String(isNegative ? -unscaled : unscaled).padStart(scale + 1, "0");
  return `${isNegative ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
};

export const decimalToFloat = (decimal: Decimal): number => Number(decimalText(decimal));

/** The part of a decimal before its point. */
export const decimalToInteger = ({ unscaled, scale }: Decimal): bigint => unscaled / power(scale);

/** Negative, 0 or positive. */
export const compareDecimals = (left: Decimal, right: Decimal): number => {
  const [a, b] = aligned(left, right);
  return a < b ? -1 : a > b ? 1 : 0;
};

export const addDecimals = (left: Decimal, right: Decimal): Decimal => {
  const [a, b, scale] = aligned(left, right);
  return fitted({ unscaled: a + b, scale });
};

export const negateDecimal = ({ unscaled, scale }: Decimal): Decimal => ({ unscaled: -unscaled, scale });

export const multiplyDecimals = (left: Decimal, right: Decimal): Decimal =>
  fitted({ unscaled: left.unscaled * right.unscaled, scale: left.scale + right.scale });

/** The quotient with as many digits as a decimal can have; trailing zeros of the fraction are left out. */
export const divideDecimals = (left: Decimal, right: Decimal): Decimal => {
  const further = decimalDigitsMax + digitsOf(right.unscaled);
  const quotient = (left.unscaled * power(further + right.scale)) / right.unscaled;
  return trimmed(fitted({ unscaled: quotient, scale: further + left.scale }));
};

export const remainderOfDecimals = (left: Decimal, right: Decimal): Decimal => {
  const [a, b, scale] = aligned(left, right);
  return { unscaled: a % b, scale };
};

/** The number with so many digits after the point, rounded half away from zero. */
export const roundedTo = ({ unscaled, scale }: Decimal, places: number): Decimal => {
  if (places >= scale) return { unscaled: unscaled * power(places - scale), scale: places };
  const divisor = power(scale - places);
  const half = divisor / 2n;
  return { unscaled: (unscaled + (unscaled < 0n ? -half : half)) / divisor, scale: places };
};

/** How many digits a decimal has, without its sign and leading zeros. */
export const digitsOf = (unscaled: bigint): number => String(unscaled < 0n ? -unscaled : unscaled).length;

const powers: bigint[] = [];

const power = (exponent: number): bigint => (powers[exponent] ??= 10n ** BigInt(exponent));

const aligned = (left: Decimal, right: Decimal): readonly [bigint, bigint, number] => {
  if (left.scale === right.scale) return [left.unscaled, right.unscaled, left.scale];
  return left.scale > right.scale
    ? [left.unscaled, right.unscaled * power(left.scale - right.scale), left.scale]
    : [left.unscaled * power(right.scale - left.scale), right.unscaled, right.scale];
};

/** Digits of a fraction; smaller numbers are rounded to zero. */
const scaleMax = 1_200;

/** The number with a fraction so short that it has no more digits than a decimal can have. */
const fitted = (decimal: Decimal): Decimal => {
  const { unscaled, scale } = decimal;
  const excess = Math.max(digitsOf(unscaled) - decimalDigitsMax, scale - scaleMax);
  return excess <= 0 || scale === 0 ? decimal : roundedTo(decimal, Math.max(0, scale - excess));
};

const trimmed = ({ unscaled, scale }: Decimal): Decimal => {
  let [digits, places] = [unscaled, scale];
  while (places > 0 && digits % 10n === 0n) [digits, places] = [digits / 10n, places - 1];
  return { unscaled: digits, scale: places };
};
