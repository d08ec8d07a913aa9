import type { Value } from "../values/value.ts";

/** A step of a path into a record. */
export type PathStep =
  | { readonly kind: "name"; readonly name: string; readonly isQuoted: boolean }
  | { readonly kind: "index"; readonly index: number }
  /** Every item of a list. */
  | { readonly kind: "all" }
  /** Every member of a structure. */
  | { readonly kind: "members" };

export type ComparisonOperator = "=" | "<>" | "<" | "<=" | ">" | ">=";
export type ArithmeticOperator = "+" | "-" | "*" | "/" | "%" | "||";

export const datePartNames = [
  "YEAR",
  "MONTH",
  "DAY",
  "HOUR",
  "MINUTE",
  "SECOND",
  "TIMEZONE_HOUR",
  "TIMEZONE_MINUTE",
] as const;
export type DatePart = (typeof datePartNames)[number];

export const aggregateNames = ["COUNT", "SUM", "AVG", "MIN", "MAX"] as const;
export type AggregateName = (typeof aggregateNames)[number];

/** What CAST converts to. */
export type CastType =
  | { readonly kind: "bool" | "int" | "float" | "timestamp" }
  | { readonly kind: "string"; readonly length: number | undefined }
  | { readonly kind: "decimal"; readonly precision: number | undefined; readonly scale: number };

/** An expression of a query. Chains of one precedence are lists, so that long ones do not nest. */
export type Expression =
  | { readonly kind: "literal"; readonly value: Value }
  | { readonly kind: "path"; readonly steps: readonly PathStep[] }
  | { readonly kind: "not" | "negation"; readonly operand: Expression }
  | { readonly kind: "and" | "or"; readonly operands: readonly Expression[] }
  | { readonly kind: "chain"; readonly first: Expression; readonly rest: readonly ChainLink[] }
  | {
      readonly kind: "comparison";
      readonly operator: ComparisonOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | {
      readonly kind: "between";
      readonly operand: Expression;
      readonly low: Expression;
      readonly high: Expression;
      readonly isNegated: boolean;
    }
  | {
      readonly kind: "in";
      readonly operand: Expression;
      readonly items: readonly Expression[];
      readonly isNegated: boolean;
    }
  | {
      readonly kind: "like";
      readonly operand: Expression;
      readonly pattern: Expression;
      readonly escape: Expression | undefined;
      readonly isNegated: boolean;
    }
  | { readonly kind: "is"; readonly operand: Expression; readonly what: IsWhat; readonly isNegated: boolean }
  | {
      readonly kind: "case";
      /** Compared with each condition; undefined: the conditions themselves decide. */
      readonly operand: Expression | undefined;
      readonly branches: readonly { readonly condition: Expression; readonly result: Expression }[];
      readonly otherwise: Expression | undefined;
    }
  | { readonly kind: "cast"; readonly operand: Expression; readonly type: CastType }
  | { readonly kind: "call"; readonly name: string; readonly parameters: readonly Expression[] }
  | { readonly kind: "datePart"; readonly part: DatePart; readonly name: string; readonly parameters: Expression[] }
  | {
      readonly kind: "trim";
      readonly side: "LEADING" | "TRAILING" | "BOTH";
      readonly characters: Expression | undefined;
      readonly operand: Expression;
    }
  | {
      readonly kind: "aggregate";
      readonly name: AggregateName;
      /** Undefined: COUNT(*). */
      readonly operand: Expression | undefined;
    };

export interface ChainLink {
  readonly operator: ArithmeticOperator;
  readonly operand: Expression;
}

export type IsWhat = "NULL" | "MISSING" | "TRUE" | "FALSE";

/** One value of each record of the result. */
export interface SelectedValue {
  readonly expression: Expression;
  /** Undefined: the last name of its path, or its position. */
  readonly alias: string | undefined;
}

/** A whole query. */
export interface Query {
  /** Undefined: whole records. */
  readonly selected: readonly SelectedValue[] | undefined;
  /** The path from the object to its records, after S3Object. */
  readonly from: readonly PathStep[];
  /** What the query calls a record. Undefined: only S3Object. */
  readonly alias: string | undefined;
  /** Whether the result is one record that aggregate functions make. */
  readonly isAggregated: boolean;
  readonly where: Expression | undefined;
  /** Undefined: all. */
  readonly limit: number | undefined;
}
