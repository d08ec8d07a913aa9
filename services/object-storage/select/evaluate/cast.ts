import { refusal } from "../refusal.ts";
import type { CastType } from "../sql/syntax.ts";
import type { Decimal } from "../values/decimal.ts";
import { decimalDigitsMax, decimalToInteger, digitsOf, roundedTo } from "../values/decimal.ts";
import { Timestamp } from "../values/timestamp.ts";
import type { Numeric, Value } from "../values/value.ts";
import {
  asBoolean,
  asDecimal,
  asFloat,
  asNumeric,
  asTimestamp,
  isDecimal,
  isNumeric,
  textOf,
} from "../values/value.ts";
import { checkedInteger } from "./arithmetic.ts";
import { describe, isPlain } from "./texts.ts";

/** Converts a value; null and what is missing remain. Throws CAST_FAILED and INTEGER_OVERFLOW. */
export const castTo = (type: CastType, value: Value): Value => {
  if (value === undefined || value === null) return value;
  const result = convert(type, value);
  if (result === undefined) throw refusal("CAST_FAILED", `${describe(value)} is no ${type.kind}`);
  return result;
};

const convert = (type: CastType, value: NonNullable<Value>): Value => {
  switch (type.kind) {
    case "bool": {
      const number = isNumeric(value) ? asFloat(value) : undefined;
      return number === undefined ? asBoolean(value) : number !== 0;
    }
    case "string":
      if (!isPlain(value)) return undefined;
      return type.length === undefined ? textOf(value) : Array.from(textOf(value)).slice(0, type.length).join("");
    case "timestamp":
      return value instanceof Timestamp ? value : asTimestamp(value);
    case "int": {
      const number = numberOf(value);
      return number === undefined ? undefined : toInteger(number);
    }
    case "float": {
      const number = numberOf(value);
      return number === undefined ? undefined : asFloat(number);
    }
    case "decimal": {
      const number = numberOf(value);
      const decimal = number === undefined ? undefined : asDecimal(number);
      return decimal && toDecimal(decimal, type.precision, type.scale);
    }
  }
};

const numberOf = (value: NonNullable<Value>): Numeric | undefined =>
  typeof value === "boolean" ? BigInt(value) : asNumeric(value);

/** Without the fraction. */
const toInteger = (number: Numeric): bigint | undefined => {
  if (isDecimal(number)) return checkedInteger(decimalToInteger(number));
  if (typeof number === "number")
    return Number.isFinite(number) ? checkedInteger(BigInt(Math.trunc(number))) : undefined;
  return checkedInteger(number);
};

const toDecimal = (decimal: Decimal, precision: number | undefined, scale: number): Decimal | undefined => {
  const rounded = precision === undefined ? decimal : roundedTo(decimal, scale);
  return digitsOf(rounded.unscaled) <= (precision ?? decimalDigitsMax) ? rounded : undefined;
};
