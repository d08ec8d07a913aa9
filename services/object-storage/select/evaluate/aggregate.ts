import { refusal } from "../refusal.ts";
import type { AggregateName } from "../sql/syntax.ts";
import { Timestamp } from "../values/timestamp.ts";
import type { Value } from "../values/value.ts";
import { asNumeric, compareValues } from "../values/value.ts";
import { compute } from "./arithmetic.ts";
import { describe } from "./texts.ts";

/** An aggregate function while its records are read. */
export interface Aggregate {
  /** Adds the value of one record. Throws ILLEGAL_SQL_FUNCTION_ARGUMENT and INTEGER_OVERFLOW. */
  add(value: Value): void;
  /** The result so far. */
  result(): Value;
}

/** Starts an aggregate function. Null and missing values do not count. */
export const startAggregate = (name: AggregateName): Aggregate => {
  if (name === "COUNT") return counter();
  if (name === "MIN" || name === "MAX") return extreme(name);
  let sum: Value;
  let count = 0n;
  return {
    add: (value) => {
      if (value === undefined || value === null) return;
      const number = asNumeric(value);
      if (number === undefined) throw notNumeric(name, value);
      sum = count === 0n ? number : compute("+", sum, number);
      count += 1n;
    },
    // An average is no integer.
    result: () => (count === 0n ? null : name === "SUM" ? sum : compute("/", fractional(sum), count)),
  };
};

const counter = (): Aggregate => {
  let count = 0;
  return {
    add: (value) => {
      if (value !== undefined && value !== null) count += 1;
    },
    result: () => BigInt(count),
  };
};

const extreme = (name: "MIN" | "MAX"): Aggregate => {
  let best: Value = null;
  return {
    add: (value) => {
      if (value === undefined || value === null) return;
      const candidate = value instanceof Timestamp ? value : asNumeric(value);
      if (candidate === undefined) throw notNumeric(name, value);
      const order = best === null ? undefined : compareValues(candidate, best);
      if (best !== null && order === undefined) throw notNumeric(name, value);
      if (order === undefined || (name === "MIN" ? order < 0 : order > 0)) best = candidate;
    },
    result: () => best,
  };
};

const fractional = (value: Value): Value => (typeof value === "bigint" ? { unscaled: value, scale: 0 } : value);

const notNumeric = (name: string, value: Value) =>
  refusal("ILLEGAL_SQL_FUNCTION_ARGUMENT", `${name} of ${describe(value)}`);
