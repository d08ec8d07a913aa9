import { addressKey, parseAddress, parseCidrBlock } from "./addresses.ts";
import type { Alternative, NumberRange, TextAlternative } from "./condition.ts";
import type { JsonList, JsonMember, JsonNode, JsonObject } from "./json-text.ts";
import { comparableNumber } from "./numbers.ts";
import { PatternError } from "./pattern-error.ts";
import { parseWildcard } from "./wildcard.ts";

const onlyOneKey = "Only one key allowed in match expression";

/** Parses one element of a leaf array: a literal, or an object with one operator. Throws PatternError. */
export const parseAlternatives = (node: JsonNode): Alternative[] => {
  switch (node.kind) {
    case "text":
      return [literalText(node.value)];
    case "number":
      return literalNumber(node.text);
    case "keyword":
      return [{ kind: "keyword", keyword: node.value }];
    case "object":
      return [parseOperator(node)];
    case "list":
      throw new PatternError("Match value must be String, number, true, false, or null", node.end);
  }
};

const literalText = (text: string): Alternative => {
  const address = parseAddress(text);
  return address === undefined ? { kind: "text", text } : { kind: "address", key: addressKey(address) };
};

const literalNumber = (text: string): Alternative[] => {
  const value = comparableNumber(text);
  return value === undefined ? [{ kind: "number-text", text }] : [{ kind: "number", value }];
};

type OperatorParser = (operand: JsonNode) => Alternative;

const parseOperator = (node: JsonObject): Alternative => {
  const { name, value } = firstMember(node, "Match expression name not found");
  const parse = operators.get(name);
  if (parse === undefined) throw new PatternError(`Unrecognized match type ${name}`, value.end);
  const alternative = locating(value, () => parse(value));
  if (node.members.length > 1) throw new PatternError(severalKeysReason(name), node.members[1]?.value.end);
  return alternative;
};

/** For numeric and anything-but, clients expect another message for a second key. */
const severalKeysReason = (operator: string): string =>
  operator === "numeric" || operator === "anything-but" ? "Too many elements in numeric expression" : onlyOneKey;

const firstMember = (node: JsonObject, reason: string): JsonMember => {
  const [member] = node.members;
  if (member === undefined) throw new PatternError(reason, node.end);
  return member;
};

/** Adds the position of the operand to an error without one. */
const locating = <T>(node: JsonNode, parse: () => T): T => {
  try {
    return parse();
  } catch (error) {
    if (error instanceof PatternError && error.offset === undefined) throw new PatternError(error.message, node.end);
    throw error;
  }
};

const textOf = (node: JsonNode, reason: string): string => {
  if (node.kind !== "text") throw new PatternError(reason, node.end);
  return node.value;
};

const parseEdge =
  (kind: "prefix" | "suffix"): OperatorParser =>
  (operand) => {
    if (operand.kind !== "object")
      return { kind, text: textOf(operand, `${kind} match pattern must be a string`), ignoresCase: false };
    const title = kind === "prefix" ? "Prefix" : "Suffix";
    const { name, value } = firstMember(operand, `${title} expression name not found`);
    if (name !== "equals-ignore-case") throw new PatternError(`Unsupported ${kind} pattern: ${name}`, value.end);
    const text = textOf(value, "equals-ignore-case match pattern must be a string");
    if (operand.members.length > 1) throw new PatternError(onlyOneKey, operand.members[1]?.value.end);
    return { kind, text, ignoresCase: true };
  };

const parseExists: OperatorParser = (operand) => {
  if (operand.kind === "keyword" && operand.value === "true") return { kind: "exists" };
  if (operand.kind === "keyword" && operand.value === "false") return { kind: "absent" };
  throw new PatternError("exists match pattern must be either true or false.", operand.end);
};

const parseNumeric: OperatorParser = (operand) => {
  if (operand.kind !== "list") throw new PatternError("Value of numeric must be an array.", operand.end);
  const [operator, limit, ...rest] = operand.items;
  if (operator?.kind !== "text")
    throw new PatternError(`Invalid member in numeric match: ${describeItem(operator)}`, (operator ?? operand).end);
  switch (operator.value) {
    case "=": {
      const value = numberOf(limit, "equals", operand);
      expectEnd(rest, "Too many elements in numeric expression");
      return { kind: "number", value };
    }
    case "<":
    case "<=": {
      const top = numberOf(limit, operator.value, operand);
      expectEnd(rest, "Too many elements in numeric expression");
      return rangeOf({ bottom: -Infinity, isBottomOpen: false, top, isTopOpen: operator.value === "<" });
    }
    case ">":
    case ">=": {
      const bottom = numberOf(limit, operator.value, operand);
      return rangeOf({ bottom, isBottomOpen: operator.value === ">", ...parseTop(rest, operand) });
    }
    default:
      throw new PatternError(`Unrecognized numeric range operator: ${operator.value}`, operator.end);
  }
};

const parseTop = (rest: readonly JsonNode[], operand: JsonList): Pick<NumberRange, "top" | "isTopOpen"> => {
  const [operator, limit, ...more] = rest;
  if (operator === undefined) return { top: Infinity, isTopOpen: false };
  if (operator.kind !== "text")
    throw new PatternError(`Bad value in numeric range: ${describeItem(operator)}`, operator.end);
  if (operator.value !== "<" && operator.value !== "<=")
    throw new PatternError(`Bad numeric range operator: ${operator.value}`, operator.end);
  const top = numberOf(limit, operator.value, operand);
  expectEnd(more, "Too many terms in numeric range expression");
  return { top, isTopOpen: operator.value === "<" };
};

const rangeOf = (range: NumberRange): Alternative => {
  if (range.bottom >= range.top) throw new PatternError("Bottom must be less than top");
  return { kind: "range", range };
};

const expectEnd = (rest: readonly JsonNode[], reason: string): void => {
  if (rest[0] !== undefined) throw new PatternError(reason, rest[0].end);
};

const numberOf = (node: JsonNode | undefined, operator: string, list: JsonList): number => {
  if (node?.kind !== "number") throw new PatternError(`Value of ${operator} must be numeric`, (node ?? list).end);
  return comparable(node.text, node.end);
};

const comparable = (text: string, offset: number): number => {
  const value = comparableNumber(text);
  if (value === undefined) throw new PatternError(`Cannot compare number: ${text}`, offset);
  return value;
};

const describeItem = (node: JsonNode | undefined): string => {
  switch (node?.kind) {
    case undefined:
      return "]";
    case "text":
    case "keyword":
      return node.value;
    case "number":
      return node.text;
    case "list":
      return "[";
    case "object":
      return "{";
  }
};

const parseAnythingBut: OperatorParser = (operand) => {
  if (operand.kind === "object") return parseAnythingButNested(operand);
  const items = operand.kind === "list" ? operand.items : [operand];
  if (operand.kind === "keyword")
    throw new PatternError("Value of anything-but must be an array or single string/number value.", operand.end);
  const texts: string[] = [];
  const values: number[] = [];
  for (const item of items) {
    if (item.kind === "text") texts.push(item.value);
    else if (item.kind === "number") values.push(comparable(item.text, item.end));
    else throw new PatternError("Inside anything but list, start|null|boolean is not supported.", item.end);
  }
  if (texts.length > 0 === values.length > 0)
    throw new PatternError(
      "Inside anything but list, either all values are number or string, mixed type is not supported",
      operand.end,
    );
  return texts.length > 0 ? { kind: "anything-but-texts", texts } : { kind: "anything-but-numbers", values };
};

const parseAnythingButNested = (operand: JsonObject): Alternative => {
  const { name, value } = firstMember(operand, "Anything-But expression name not found");
  const parse = nestedOperators.get(name);
  if (parse === undefined) throw new PatternError(`Unsupported anything-but pattern: ${name}`, value.end);
  if (value.kind === "keyword" || value.kind === "object")
    throw new PatternError("Value of anything-but must be an array or single string/number value.", value.end);
  const items = value.kind === "list" ? value.items : [value];
  if (items.length === 0) throw new PatternError("Empty arrays are not allowed", value.end);
  const alternatives = items.map((item) => locating(item, () => parse(item)));
  if (operand.members.length > 1)
    throw new PatternError("Too many elements in numeric expression", operand.members[1]?.value.end);
  return { kind: "anything-but", alternatives };
};

const parseNestedEdge =
  (kind: "prefix" | "suffix") =>
  (item: JsonNode): TextAlternative => {
    const text = textOf(item, "prefix/suffix match pattern must be a string");
    if (text === "") throw new PatternError("Null prefix/suffix not allowed", item.end);
    return { kind, text, ignoresCase: false };
  };

const parseWildcardOperand = (operand: JsonNode): TextAlternative => ({
  kind: "wildcard",
  wildcard: parseWildcard(textOf(operand, "wildcard match pattern must be a string")),
});

const nestedOperators = new Map<string, (item: JsonNode) => TextAlternative>([
  ["prefix", parseNestedEdge("prefix")],
  ["suffix", parseNestedEdge("suffix")],
  ["wildcard", parseWildcardOperand],
  [
    "equals-ignore-case",
    (item) => ({
      kind: "equals-ignore-case",
      text: textOf(item, "Inside anything-but/equals-ignore-case list, number|start|null|boolean is not supported."),
    }),
  ],
]);

const operators = new Map<string, OperatorParser>([
  ["exactly", (operand) => ({ kind: "text", text: textOf(operand, "exact match pattern must be a string") })],
  ["prefix", parseEdge("prefix")],
  ["suffix", parseEdge("suffix")],
  [
    "equals-ignore-case",
    (operand) => ({
      kind: "equals-ignore-case",
      text: textOf(operand, "equals-ignore-case match pattern must be a string"),
    }),
  ],
  ["wildcard", parseWildcardOperand],
  ["anything-but", parseAnythingBut],
  ["numeric", parseNumeric],
  ["exists", parseExists],
  // NOTE: the message for a CIDR operand that is not a string names prefixes, as clients expect.
  [
    "cidr",
    (operand) => ({
      kind: "cidr",
      block: parseCidrBlock(textOf(operand, "prefix match pattern must be a string")),
    }),
  ],
]);

/** Names with a meaning inside a match expression. A branch of `$or` may not use them as names of fields. */
export const reservedInOr: ReadonlySet<string> = new Set([
  ...operators.keys(),
  "=",
  "<",
  "<=",
  ">",
  ">=",
  "regex",
  "not-wildcard",
  "not-equals-ignore-case",
  "in-date-range",
  "date-after",
  "date-on-or-after",
  "date-before",
  "date-on-or-before",
  "ip-address-in-range",
  "ip-address-not-in-range",
]);
