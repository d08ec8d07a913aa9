import { refusal } from "../refusal.ts";
import { stepsInside } from "../sql/parse-query.ts";
import type { ComparisonOperator, Expression, PathStep } from "../sql/syntax.ts";
import type { Timestamp } from "../values/timestamp.ts";
import type { Value } from "../values/value.ts";
import { asBoolean, asFloat, compareValues, isNumeric, shortNumber, textOf } from "../values/value.ts";
import type { Aggregate } from "./aggregate.ts";
import { startAggregate } from "./aggregate.ts";
import { compute, negated } from "./arithmetic.ts";
import { castTo } from "./cast.ts";
import { dateFunction, plainFunctions, wholeFunctions } from "./functions.ts";
import type { LikeMatcher } from "./like.ts";
import { compileLike } from "./like.ts";
import { describe, plainText, trimmed } from "./texts.ts";

/** Finds the value of a path in a record. Throws what refuses a path that no record can have. */
export type Resolve<Row> = (steps: readonly PathStep[]) => Evaluate<Row>;

/** Computes a value of a record. */
export type Evaluate<Row> = (row: Row) => Value;

/** What expressions are compiled with. */
export interface Compilation<Row> {
  readonly resolve: Resolve<Row>;
  /** What the query calls a record. */
  readonly alias: string | undefined;
  /** The instant of the query. */
  readonly now: Timestamp;
  /** Receives the aggregate functions of the expression; undefined: it may have none. */
  readonly aggregates: RunningAggregate<Row>[] | undefined;
}

/** An aggregate function, and what it is computed of. */
export interface RunningAggregate<Row> {
  readonly aggregate: Aggregate;
  readonly operand: Evaluate<Row>;
}

const unknown = null;

/**
 * Compiles an expression to nested functions. Throws UNSUPPORTED_SQL_STRUCTURE for an aggregate function where none can
 * be, and what resolving its paths throws.
 */
export const compileExpression = <Row>(expression: Expression, context: Compilation<Row>): Evaluate<Row> => {
  const compiled = (each: Expression): Evaluate<Row> => compileExpression(each, context);
  switch (expression.kind) {
    case "literal": {
      const { value } = expression;
      return () => value;
    }
    case "path":
      return compilePath(expression.steps, context);
    case "not": {
      const operand = compiled(expression.operand);
      return (row) => {
        const value = asBoolean(operand(row));
        return value === undefined ? unknown : !value;
      };
    }
    case "negation": {
      const operand = compiled(expression.operand);
      return (row) => negated(operand(row));
    }
    case "and":
    case "or":
      return compileLogic(expression.kind === "or", expression.operands.map(compiled));
    case "chain": {
      const first = compiled(expression.first);
      const rest = expression.rest.map(({ operator, operand }) => ({ operator, operand: compiled(operand) }));
      return (row) => rest.reduce((value, { operator, operand }) => compute(operator, value, operand(row)), first(row));
    }
    case "comparison":
      return compileComparison(expression, context);
    case "between": {
      const [operand, low, high] = [compiled(expression.operand), compiled(expression.low), compiled(expression.high)];
      return negatedIf(expression.isNegated, (row) => {
        const value = operand(row);
        return conjunction(compareAs(">=", value, low(row)), compareAs("<=", value, high(row)));
      });
    }
    case "in": {
      const [operand, items] = [compiled(expression.operand), expression.items.map(compiled)];
      return negatedIf(expression.isNegated, (row) => isIn(operand(row), items, row));
    }
    case "like":
      return negatedIf(expression.isNegated, compileLikeOperator(expression, context));
    case "is":
      return negatedIf(expression.isNegated, compileIs(expression.what, compiled(expression.operand)));
    case "case":
      return compileCase(expression, context);
    case "cast": {
      const [operand, { type }] = [compiled(expression.operand), expression];
      return (row) => castTo(type, operand(row));
    }
    case "trim": {
      const [operand, { side }] = [compiled(expression.operand), expression];
      const characters = expression.characters === undefined ? () => " " : compiled(expression.characters);
      return plainCall([operand, characters], (text, set) =>
        trimmed(plainText("TRIM", text), side, plainText("TRIM", set)),
      );
    }
    case "datePart":
      return plainCall(expression.parameters.map(compiled), dateFunction(expression.name, expression.part));
    case "call":
      return compileCall(expression.name, expression.parameters.map(compiled), context.now);
    case "aggregate":
      return compileAggregate(expression, context);
  }
};

const compilePath = <Row>(
  path: readonly PathStep[],
  { resolve, alias, aggregates }: Compilation<Row>,
): Evaluate<Row> => {
  const steps = stepsInside(path, alias);
  if (steps.some(({ kind }) => kind === "all" || kind === "members"))
    throw refusal("PARSE_UNSUPPORTED_SYNTAX", "a star inside of a path of the SELECT list or of WHERE");
  // A result of aggregate functions belongs to no record.
  if (aggregates !== undefined) throw refusal("UNSUPPORTED_SQL_STRUCTURE", "a path next to an aggregate function");
  return resolve(steps);
};

/** OR if `decisive`, else AND, of three values. */
const compileLogic = <Row>(decisive: boolean, operands: readonly Evaluate<Row>[]): Evaluate<Row> => {
  return (row) => {
    let isKnown = true;
    for (const operand of operands) {
      const value = asBoolean(operand(row));
      if (value === decisive) return decisive;
      if (value === undefined) isKnown = false;
    }
    return isKnown ? !decisive : unknown;
  };
};

const conjunction = (left: boolean | null, right: boolean | null): boolean | null => {
  if (left === false || right === false) return false;
  return left === null || right === null ? unknown : true;
};

const negatedIf = <Row>(isNegated: boolean, evaluate: (row: Row) => boolean | null): Evaluate<Row> => {
  if (!isNegated) return evaluate;
  return (row) => {
    const value = evaluate(row);
    return value === null ? unknown : !value;
  };
};

const orders: Readonly<Record<ComparisonOperator, (order: number) => boolean>> = {
  "=": (order) => order === 0,
  "<>": (order) => order !== 0,
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
};

/** Compares two values. Those that have no order are unequal; nothing else is known of them. */
const compareAs = (operator: ComparisonOperator, left: Value, right: Value): boolean | null => {
  if (left === undefined || left === null || right === undefined || right === null) return unknown;
  const order = compareValues(left, right);
  if (order !== undefined) return orders[operator](order);
  return operator === "=" ? false : operator === "<>" ? true : unknown;
};

const compileComparison = <Row>(
  { operator, left, right }: Extract<Expression, { kind: "comparison" }>,
  context: Compilation<Row>,
): Evaluate<Row> => {
  const [a, b] = [compileExpression(left, context), compileExpression(right, context)];
  const holds = orders[operator];
  // Most fields are short texts that are compared with a constant.
  if (right.kind === "literal" && typeof right.value === "string") {
    const constant = right.value;
    return (row) => {
      const value = a(row);
      if (typeof value !== "string") return compareAs(operator, value, constant);
      return holds(value < constant ? -1 : value > constant ? 1 : 0);
    };
  }
  if (right.kind === "literal" && isNumeric(right.value) && textOf(right.value).length <= 15) {
    const { value: constant } = right;
    const float = asFloat(right.value);
    return (row) => {
      const value = a(row);
      const number = typeof value === "string" ? shortNumber(value) : Number.NaN;
      return Number.isNaN(number) ? compareAs(operator, value, constant) : holds(number - float);
    };
  }
  return (row) => compareAs(operator, a(row), b(row));
};

const isIn = <Row>(value: Value, items: readonly Evaluate<Row>[], row: Row): boolean | null => {
  let isKnown = true;
  for (const item of items) {
    const isEqual = compareAs("=", value, item(row));
    if (isEqual === true) return true;
    if (isEqual === null) isKnown = false;
  }
  return isKnown ? false : unknown;
};

const compileIs =
  <Row>(what: "NULL" | "MISSING" | "TRUE" | "FALSE", operand: Evaluate<Row>) =>
  (row: Row): boolean => {
    const value = operand(row);
    if (what === "NULL") return value === undefined || value === null;
    return what === "MISSING" ? value === undefined : asBoolean(value) === (what === "TRUE");
  };

const compileLikeOperator = <Row>(
  { operand, pattern, escape }: Extract<Expression, { kind: "like" }>,
  context: Compilation<Row>,
): ((row: Row) => boolean | null) => {
  const evaluate = compileExpression(operand, context);
  const [patternOf, escapeOf] = [pattern, escape].map((each) => each && compileExpression(each, context));
  const matcherOf = (row: Row): LikeMatcher | null => {
    const [text, mark] = [patternOf?.(row), escapeOf?.(row)];
    if (text === null || text === undefined || mark === null || (escape !== undefined && mark === undefined))
      return unknown;
    if (typeof text !== "string" || (mark !== undefined && typeof mark !== "string"))
      throw refusal("LIKE_INVALID_INPUTS", describe(typeof text === "string" ? mark : text));
    return compileLike(text, mark);
  };
  const isConstant = pattern.kind === "literal" && (escape === undefined || escape.kind === "literal");
  const constant = isConstant ? matcherOf(undefined as Row) : undefined;
  return (row) => {
    const value = evaluate(row);
    const matches = constant === undefined ? matcherOf(row) : constant;
    if (value === null || value === undefined || matches === null) return unknown;
    if (typeof value !== "string") throw refusal("LIKE_INVALID_INPUTS", describe(value));
    return matches(value);
  };
};

const compileCase = <Row>(
  { operand, branches, otherwise }: Extract<Expression, { kind: "case" }>,
  context: Compilation<Row>,
): Evaluate<Row> => {
  const compiled = branches.map(({ condition, result }) => ({
    condition: compileExpression(condition, context),
    result: compileExpression(result, context),
  }));
  const subject = operand && compileExpression(operand, context);
  const other = otherwise === undefined ? () => unknown : compileExpression(otherwise, context);
  return (row) => {
    const value = subject?.(row);
    for (const { condition, result } of compiled) {
      const decided = condition(row);
      const holds = subject === undefined ? asBoolean(decided) : compareAs("=", value, decided);
      if (holds === true) return result(row);
    }
    return other(row);
  };
};

const compileCall = <Row>(name: string, parameters: readonly Evaluate<Row>[], now: Timestamp): Evaluate<Row> => {
  if (name === "UTCNOW") return () => now;
  const whole = wholeFunctions[name];
  if (whole !== undefined) return (row) => whole(parameters.map((parameter) => parameter(row)));
  const plain = plainFunctions[name];
  if (plain === undefined) throw refusal("UNSUPPORTED_FUNCTION", name);
  return plainCall(parameters, plain);
};

/** A call that has nothing or null as the result if one of its values is. */
const plainCall = <Row>(
  parameters: readonly Evaluate<Row>[],
  call: (...values: NonNullable<Value>[]) => Value,
): Evaluate<Row> => {
  return (row) => {
    const values = parameters.map((parameter) => parameter(row));
    if (values.includes(undefined)) return undefined;
    return values.includes(unknown) ? unknown : call(...(values as NonNullable<Value>[]));
  };
};

const compileAggregate = <Row>(
  { name, operand }: Extract<Expression, { kind: "aggregate" }>,
  context: Compilation<Row>,
): Evaluate<Row> => {
  if (context.aggregates === undefined) throw refusal("UNSUPPORTED_SQL_STRUCTURE", `${name} here`);
  const aggregate = startAggregate(name);
  const inner = operand && compileExpression(operand, { ...context, aggregates: undefined });
  context.aggregates.push({ aggregate, operand: inner ?? (() => true) });
  return () => aggregate.result();
};
