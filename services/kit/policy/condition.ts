import { BlockList, isIP } from "node:net";

import { fitsArn, fitsWildcard } from "./wildcard.ts";

/** One key of one operator in a statement's condition. */
export interface PolicyCondition {
  readonly operator: Operator;
  readonly quantifier: "none" | "all" | "any";
  /** True if a missing key satisfies it. */
  readonly ifExists: boolean;
  /** Context key as written; keys compare without regard to case. */
  readonly key: string;
  readonly values: readonly string[];
}

/** How a value of the request compares with a value of the policy. */
interface Operator {
  readonly name: string;
  /** True if it is satisfied when no policy value matches. */
  readonly isNegated: boolean;
  /** True if variables are replaced in policy values. */
  readonly takesVariables: boolean;
  /** True if `*` and `?` of a policy value are wildcards. */
  readonly isPattern: boolean;
  /** Returns the fault of a policy value; undefined if it has none. */
  readonly refuse: (policyValue: string) => string | undefined;
  readonly compare: (requestValue: string, policyValue: string) => boolean;
}

/** The values of the request by lower-case context key. A key without an entry is absent. */
export type ConditionContext = ReadonlyMap<string, readonly string[]>;

const accepted = (): undefined => undefined;

const parseNumber = (text: string): number =>
  /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) ? Number(text) : Number.NaN;

/** ISO 8601, or seconds since 1970. */
const parseInstant = (text: string): number => {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1000;
  return /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
};

const ordered = (
  parse: (text: string) => number,
  what: string,
  holds: (request: number, policy: number) => boolean,
): Pick<Operator, "refuse" | "compare"> => ({
  refuse: (value) => (Number.isNaN(parse(value)) ? `${JSON.stringify(value)} is not ${what}` : undefined),
  compare: (request, policy) => holds(parse(request), parse(policy)),
});

const network = (text: string): BlockList | undefined => {
  const [address = "", bits, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return undefined;
  const prefix = bits === undefined ? (version === 4 ? 32 : 128) : /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
  if (prefix < 0 || prefix > (version === 4 ? 32 : 128)) return undefined;
  const list = new BlockList();
  list.addSubnet(address, prefix, version === 4 ? "ipv4" : "ipv6");
  return list;
};

const isInNetwork = (address: string, policy: string): boolean => {
  const version = isIP(address);
  return version !== 0 && (network(policy)?.check(address, version === 4 ? "ipv4" : "ipv6") ?? false);
};

const decodedBytes = (text: string): Buffer => Buffer.from(text, "base64");

type Comparison = Pick<Operator, "refuse" | "compare"> & Partial<Pick<Operator, "takesVariables" | "isPattern">>;

const text = (compare: Operator["compare"]): Comparison => ({ refuse: accepted, compare, takesVariables: true });
const pattern = (compare: Operator["compare"]): Comparison => ({ ...text(compare), isPattern: true });
const equalsIgnoringCase = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
const equal = (a: number, b: number): boolean => a === b;
const less = (a: number, b: number): boolean => a < b;
const lessOrEqual = (a: number, b: number): boolean => a <= b;
const greater = (a: number, b: number): boolean => a > b;
const greaterOrEqual = (a: number, b: number): boolean => a >= b;

const comparisons: Readonly<Record<string, Comparison>> = {
  StringEquals: text((request, policy) => request === policy),
  StringEqualsIgnoreCase: text(equalsIgnoringCase),
  StringLike: pattern((request, policy) => fitsWildcard(policy, request)),
  NumericEquals: ordered(parseNumber, "a number", equal),
  NumericLessThan: ordered(parseNumber, "a number", less),
  NumericLessThanEquals: ordered(parseNumber, "a number", lessOrEqual),
  NumericGreaterThan: ordered(parseNumber, "a number", greater),
  NumericGreaterThanEquals: ordered(parseNumber, "a number", greaterOrEqual),
  DateEquals: ordered(parseInstant, "an instant", equal),
  DateLessThan: ordered(parseInstant, "an instant", less),
  DateLessThanEquals: ordered(parseInstant, "an instant", lessOrEqual),
  DateGreaterThan: ordered(parseInstant, "an instant", greater),
  DateGreaterThanEquals: ordered(parseInstant, "an instant", greaterOrEqual),
  Bool: {
    refuse: (value) =>
      /^(?:true|false)$/i.test(value) ? undefined : `${JSON.stringify(value)} is neither true nor false`,
    compare: equalsIgnoringCase,
  },
  BinaryEquals: {
    refuse: (value) => (/^[A-Za-z0-9+/]*={0,2}$/.test(value) ? undefined : `${JSON.stringify(value)} is not base64`),
    compare: (request, policy) => decodedBytes(request).equals(decodedBytes(policy)),
  },
  IpAddress: {
    refuse: (value) =>
      network(value) === undefined ? `${JSON.stringify(value)} is not an address or network` : undefined,
    compare: isInNetwork,
  },
  ArnEquals: pattern((request, policy) => fitsArn(policy, request)),
  ArnLike: pattern((request, policy) => fitsArn(policy, request)),
};

/** The negated form of each comparison that has one. */
const negations: Readonly<Record<string, string>> = {
  StringNotEquals: "StringEquals",
  StringNotEqualsIgnoreCase: "StringEqualsIgnoreCase",
  StringNotLike: "StringLike",
  NumericNotEquals: "NumericEquals",
  DateNotEquals: "DateEquals",
  NotIpAddress: "IpAddress",
  ArnNotEquals: "ArnEquals",
  ArnNotLike: "ArnLike",
};

/** True of absent keys. It compares presence, so it has neither quantifiers nor IfExists. */
const nullOperator: Operator = {
  name: "Null",
  isNegated: false,
  takesVariables: false,
  isPattern: false,
  refuse: (value) =>
    /^(?:true|false)$/i.test(value) ? undefined : `${JSON.stringify(value)} is neither true nor false`,
  compare: equalsIgnoringCase,
};

const operators = new Map<string, Operator>([
  ...Object.entries(comparisons).map(([name, comparison]) => [name, operator(name, comparison, false)] as const),
  ...Object.entries(negations).map(
    ([name, plain]) => [name, operator(name, comparisons[plain] as Comparison, true)] as const,
  ),
  ["Null", nullOperator],
]);

function operator(name: string, comparison: Comparison, isNegated: boolean): Operator {
  const { refuse, compare, takesVariables = false, isPattern = false } = comparison;
  return { name, isNegated, takesVariables, isPattern, refuse, compare };
}

/** The names of all operators, without quantifiers and `IfExists`. */
export const operatorNames: readonly string[] = [...operators.keys()];

/** Parses one key of an operator; returns a string with the fault if it is invalid. */
export const parseCondition = (written: string, key: string, values: readonly string[]): PolicyCondition | string => {
  const match = /^(?:(ForAllValues|ForAnyValue):)?([A-Za-z]+?)(IfExists)?$/.exec(written);
  const found = operators.get(match?.[2] ?? "");
  if (match === null || found === undefined) return `${JSON.stringify(written)} is not an operator`;
  if (found === nullOperator && (match[1] !== undefined || match[3] !== undefined))
    return "Null takes no quantifier and no IfExists";
  if (values.length === 0) return "at least one value is needed";
  const wrong = values
    .filter((value) => !(found.takesVariables && value.includes("${")))
    .map((value) => found.refuse(value))
    .find((reason) => reason !== undefined);
  if (wrong !== undefined) return wrong;
  const quantifier = match[1] === "ForAllValues" ? "all" : match[1] === "ForAnyValue" ? "any" : "none";
  return { operator: found, quantifier, ifExists: match[3] !== undefined, key, values };
};

/**
 * True if the request satisfies the condition. `resolve` replaces the variables of a policy value; a value whose
 * variable has no value matches nothing.
 */
export const isSatisfied = (
  condition: PolicyCondition,
  context: ConditionContext,
  resolve: (policyValue: string) => string | undefined,
): boolean => {
  const { operator: wanted, quantifier, values } = condition;
  const given = context.get(condition.key.toLowerCase());
  if (wanted === nullOperator) return values.some((value) => equalsIgnoringCase(value, String(given === undefined)));
  if (given === undefined || given.length === 0) {
    if (condition.ifExists || quantifier === "all") return true;
    return quantifier === "none" && wanted.isNegated;
  }
  const resolved = wanted.takesVariables ? values.map(resolve).filter((value) => value !== undefined) : values;
  const compares = (value: string): boolean => resolved.some((policyValue) => wanted.compare(value, policyValue));
  const holds = wanted.isNegated ? (value: string): boolean => !compares(value) : compares;
  if (quantifier === "all") return given.every(holds);
  if (quantifier === "any") return given.some(holds);
  return wanted.isNegated ? given.every(holds) : given.some(holds);
};
