import { refusal } from "../refusal.ts";
import type { ArithmeticOperator } from "../sql/syntax.ts";
import type { Decimal } from "../values/decimal.ts";
import {
  addDecimals,
  divideDecimals,
  multiplyDecimals,
  negateDecimal,
  remainderOfDecimals,
} from "../values/decimal.ts";
import type { Numeric, Value } from "../values/value.ts";
import { asDecimal, asFloat, asNumeric, isDecimal, numberCharactersMax } from "../values/value.ts";
import { describe, joinedText } from "./texts.ts";

/**
 * Computes with two values. Two integers have an integer as the result, also of a division; a float makes the result a
 * float; otherwise it is a decimal. Throws INTEGER_OVERFLOW, EVALUATOR_INVALID_ARGUMENTS for a division by zero, and
 * ILLEGAL_SQL_FUNCTION_ARGUMENT for what is no number.
 */
export const compute = (operator: ArithmeticOperator, left: Value, right: Value): Value => {
  if (left === undefined || right === undefined) return undefined;
  if (left === null || right === null) return null;
  if (operator === "||") return joinedText(left, right);
  const [a, b] = [numericOperand(operator, left), numericOperand(operator, right)];
  if (typeof a === "bigint" && typeof b === "bigint") return computeIntegers(operator, a, b);
  if (typeof a === "number" || typeof b === "number") return computeFloats(operator, asFloat(a), asFloat(b));
  const result = computeDecimals(operator, asDecimal(a) as Decimal, asDecimal(b) as Decimal);
  // A product of many long numbers could have any length.
  if (result.unscaled > wholeMax || result.unscaled < -wholeMax) throw refusal("INTEGER_OVERFLOW");
  return result;
};

const wholeMax = 10n ** BigInt(numberCharactersMax);

export const negated = (value: Value): Value => {
  if (value === undefined || value === null) return value;
  const operand = numericOperand("-", value);
  if (typeof operand === "bigint") return checkedInteger(-operand);
  return isDecimal(operand) ? negateDecimal(operand) : -operand;
};

/** Throws INTEGER_OVERFLOW if an integer has more than 64 bits. */
export const checkedInteger = (value: bigint): bigint => {
  if (value !== BigInt.asIntN(64, value)) throw refusal("INTEGER_OVERFLOW");
  return value;
};

const numericOperand = (operator: ArithmeticOperator, value: Value): Numeric => {
  const operand = asNumeric(value);
  if (operand === undefined) throw refusal("ILLEGAL_SQL_FUNCTION_ARGUMENT", `${operator} of ${describe(value)}`);
  return operand;
};

const divisionByZero = () => refusal("EVALUATOR_INVALID_ARGUMENTS", "The SQL expression divides by zero.");

const computeIntegers = (operator: ArithmeticOperator, left: bigint, right: bigint): bigint => {
  if (operator === "+") return checkedInteger(left + right);
  if (operator === "-") return checkedInteger(left - right);
  if (operator === "*") return checkedInteger(left * right);
  if (right === 0n) throw divisionByZero();
  return checkedInteger(operator === "/" ? left / right : left % right);
};

const computeFloats = (operator: ArithmeticOperator, left: number, right: number): number => {
  if (operator === "+") return left + right;
  if (operator === "-") return left - right;
  if (operator === "*") return left * right;
  if (right === 0) throw divisionByZero();
  return operator === "/" ? left / right : left % right;
};

const computeDecimals = (operator: ArithmeticOperator, left: Decimal, right: Decimal): Decimal => {
  if (operator === "+") return addDecimals(left, right);
  if (operator === "-") return addDecimals(left, negateDecimal(right));
  if (operator === "*") return multiplyDecimals(left, right);
  if (right.unscaled === 0n) throw divisionByZero();
  return operator === "/" ? divideDecimals(left, right) : remainderOfDecimals(left, right);
};
