import { BlockList, isIP } from "node:net";

import type { MatchingWork } from "./matching-work.ts";
import { arnTest, SplitArn, textTest } from "./wildcard.ts";

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
  /** Whether the values are ARNs, which are spelled alike before they are compared. */
  readonly isArn: boolean;
  /** Says what is wrong with a policy value; undefined when nothing is. */
  readonly refuse: (policyValue: string) => string | undefined;
  /** Reads a policy value once; the result says whether a value of the request compares with it. */
  readonly prepare: (policyValue: string) => (requestValue: string, work: MatchingWork) => boolean;
}

/** The values of the request by lower-case context key. A key without a value is absent. */
export interface ConditionContext {
  get(key: string): readonly string[] | undefined;
}

const accepted = (): undefined => undefined;

const parseNumber = (text: string): number =>
  /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) ? Number(text) : Number.NaN;

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
): Comparison => ({
  refuse: (value) => (Number.isNaN(parse(value)) ? `${JSON.stringify(value)} is not ${what}` : undefined),
  prepare: (written) => {
    const policy = parse(written);
    return (request, work) => {
      work.take(request.length);
      return holds(parse(request), policy);
    };
  },
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

const networkTest = (policy: string): ((address: string) => boolean) => {
  const list = network(policy);
  return (address) => {
    const version = isIP(address);
    return version !== 0 && (list?.check(address, version === 4 ? "ipv4" : "ipv6") ?? false);
  };
};

const decodedBytes = (text: string): Buffer => Buffer.from(text, "base64");

type Comparison = Pick<Operator, "refuse" | "prepare"> &
  Partial<Pick<Operator, "takesVariables" | "isPattern" | "isArn">>;

const text = (prepare: Operator["prepare"]): Comparison => ({ refuse: accepted, prepare, takesVariables: true });
const pattern = (prepare: Operator["prepare"]): Comparison => ({ ...text(prepare), isPattern: true });
const ignoringCase = (policy: string): ReturnType<Operator["prepare"]> => {
  const wanted = policy.toLowerCase();
  return (request, work) => {
    work.take(request.length);
    return request.toLowerCase() === wanted;
  };
};
const arns: Comparison = {
  ...pattern((policy) => {
    const fits = arnTest(policy);
    return (request, work) => {
      work.take(request.length);
      return fits(new SplitArn(request), work);
    };
  }),
  isArn: true,
};
const equal = (a: number, b: number): boolean => a === b;
const less = (a: number, b: number): boolean => a < b;
const lessOrEqual = (a: number, b: number): boolean => a <= b;
const greater = (a: number, b: number): boolean => a > b;
const greaterOrEqual = (a: number, b: number): boolean => a >= b;

const comparisons: Readonly<Record<string, Comparison>> = {
  StringEquals: text((policy) => (request) => request === policy),
  StringEqualsIgnoreCase: text(ignoringCase),
  StringLike: pattern(textTest),
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
    prepare: ignoringCase,
  },
  BinaryEquals: {
    refuse: (value) => (/^[A-Za-z0-9+/]*={0,2}$/.test(value) ? undefined : `${JSON.stringify(value)} is not base64`),
    prepare: (written) => {
      const policy = decodedBytes(written);
      return (request, work) => {
        work.take(request.length);
        return decodedBytes(request).equals(policy);
      };
    },
  },
  IpAddress: {
    refuse: (value) =>
      network(value) === undefined ? `${JSON.stringify(value)} is not an address or network` : undefined,
    prepare: networkTest,
  },
  ArnEquals: arns,
  ArnLike: arns,
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
  isArn: false,
  refuse: (value) =>
    /^(?:true|false)$/i.test(value) ? undefined : `${JSON.stringify(value)} is neither true nor false`,
  prepare: ignoringCase,
};

const operators = new Map<string, Operator>([
  ...Object.entries(comparisons).map(([name, comparison]) => [name, operator(name, comparison, false)] as const),
  ...Object.entries(negations).map(
    ([name, plain]) => [name, operator(name, comparisons[plain] as Comparison, true)] as const,
  ),
  ["Null", nullOperator],
]);

function operator(name: string, comparison: Comparison, isNegated: boolean): Operator {
  const { refuse, prepare, takesVariables = false, isPattern = false, isArn = false } = comparison;
  return { name, isNegated, takesVariables, isPattern, isArn, refuse, prepare };
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

/** How a condition's texts are read before they are compared. */
export interface ConditionReading {
  /** The spelling of a condition key in the context. */
  readonly key: (written: string) => string;
  /** The spelling of ARNs of the policy and of the request. */
  readonly arn: (written: string) => string;
  /** Replaces the variables of a policy value; undefined: one has no value. Unset: texts have no variables. */
  readonly resolve?: (
    value: string,
    context: ConditionContext,
    isPattern: boolean,
    work: MatchingWork,
  ) => string | undefined;
}

/** A condition whose values were read once: whether a request satisfies it. */
export type ConditionTest = (context: ConditionContext, work: MatchingWork) => boolean;

/** Reads a condition. A value whose variable has no value in a request compares with nothing. */
export const conditionTest = (condition: PolicyCondition, reading: ConditionReading): ConditionTest => {
  const { operator: wanted, quantifier, ifExists, values } = condition;
  const key = reading.key(condition.key).toLowerCase();
  if (wanted === nullOperator) {
    const wantsAbsent = values.map((value) => value.toLowerCase() === "true");
    return (context) => wantsAbsent.includes(context.get(key) === undefined);
  }
  const spelled = wanted.isArn ? reading.arn : (written: string) => written;
  const { resolve } = reading;
  const varies = (value: string): boolean => resolve !== undefined && wanted.takesVariables && value.includes("${");
  const fixed = values.filter((value) => !varies(value)).map((value) => wanted.prepare(spelled(value)));
  const varying = values.filter(varies);
  const resolved = (context: ConditionContext, work: MatchingWork): ReturnType<Operator["prepare"]>[] =>
    varying.flatMap((value) => {
      const whole = resolve?.(value, context, wanted.isPattern, work);
      return whole === undefined ? [] : [wanted.prepare(spelled(whole))];
    });
  const holdsForAbsent = ifExists || quantifier === "all" || (quantifier === "none" && wanted.isNegated);
  const holdsForEach = quantifier === "all" || (quantifier === "none" && wanted.isNegated);
  return (context, work) => {
    const given = context.get(key);
    if (given === undefined || given.length === 0) return holdsForAbsent;
    const tests = varying.length === 0 ? fixed : [...fixed, ...resolved(context, work)];
    const holds = (value: string): boolean => {
      const compared = spelled(value);
      work.take(1 + tests.length);
      return tests.some((test) => test(compared, work)) !== wanted.isNegated;
    };
    return holdsForEach ? given.every(holds) : given.some(holds);
  };
};
