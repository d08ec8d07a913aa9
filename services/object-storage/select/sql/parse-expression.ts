import { decimalOf } from "../values/decimal.ts";
import { refusal, shown } from "../refusal.ts";
import type { Value } from "../values/value.ts";
import { numberCharactersMax } from "../values/value.ts";
import { parseCall } from "./parse-call.ts";
import { parsePathSteps } from "./parse-path.ts";
import type { ChainLink, ComparisonOperator, Expression, IsWhat } from "./syntax.ts";
import { parseCastType } from "./parse-type.ts";
import type { TokenReader } from "./token-reader.ts";

/** Words that are no name of a column unless they are quoted. */
const keywords = new Set(
  "SELECT FROM WHERE LIMIT GROUP HAVING ORDER BY AS AND OR NOT IN IS LIKE ESCAPE BETWEEN CASE WHEN THEN ELSE END NULL MISSING TRUE FALSE CAST DISTINCT JOIN UNION".split(
    " ",
  ),
);

/** From the loosest to the tightest: OR, AND, NOT, comparisons, `||`, sums, products, signs. */
export const parseExpression = (tokens: TokenReader): Expression => tokens.nested(() => parseOr(tokens));

const parseOr = (tokens: TokenReader): Expression => joined(tokens, "OR", () => joined(tokens, "AND", parseNot));

const joined = (tokens: TokenReader, word: "OR" | "AND", parse: (tokens: TokenReader) => Expression): Expression => {
  const operands = [parse(tokens)];
  while (tokens.skipWord(word)) operands.push(parse(tokens));
  const [only] = operands;
  return operands.length === 1 ? (only as Expression) : { kind: word === "OR" ? "or" : "and", operands };
};

const parseNot = (tokens: TokenReader): Expression => {
  if (!tokens.skipWord("NOT")) return parseComparison(tokens);
  return { kind: "not", operand: tokens.nested(() => parseNot(tokens)) };
};

const comparisons: Readonly<Record<string, ComparisonOperator>> = {
  "=": "=",
  "<>": "<>",
  "!=": "<>",
  "<": "<",
  "<=": "<=",
  ">": ">",
  ">=": ">=",
};

const parseComparison = (tokens: TokenReader): Expression => {
  let left = parseChain(tokens);
  for (let isChained = false; ; isChained = true) {
    if (isChained && startsCondition(tokens)) tokens.countChained();
    const operator = tokens.next.kind === "sign" ? comparisons[tokens.next.text] : undefined;
    if (operator !== undefined) {
      tokens.take();
      left = tokens.nested(() => ({ kind: "comparison", operator, left, right: parseChain(tokens) }));
      continue;
    }
    const condition = parseCondition(tokens, left);
    if (condition === undefined) return left;
    left = condition;
  }
};

const startsCondition = (tokens: TokenReader): boolean =>
  tokens.isSign(...Object.keys(comparisons)) || tokens.isWord("IS", "NOT", "IN", "LIKE", "BETWEEN");

/** What may follow a value to make it a condition; undefined if nothing of it does. */
const parseCondition = (tokens: TokenReader, operand: Expression): Expression | undefined => {
  if (tokens.skipWord("IS")) {
    const isNegated = tokens.skipWord("NOT");
    return { kind: "is", operand, what: parseIsWhat(tokens), isNegated };
  }
  const isNegated = tokens.isWord("NOT") && ["IN", "LIKE", "BETWEEN"].includes(tokens.afterNext.word);
  if (isNegated) tokens.take();
  if (tokens.skipWord("BETWEEN")) {
    const low = parseChain(tokens);
    tokens.expectWord("AND");
    return { kind: "between", operand, low, high: parseChain(tokens), isNegated };
  }
  if (tokens.skipWord("LIKE")) {
    const pattern = parseChain(tokens);
    const escape = tokens.skipWord("ESCAPE") ? parseChain(tokens) : undefined;
    return { kind: "like", operand, pattern, escape, isNegated };
  }
  if (!tokens.skipWord("IN")) return undefined;
  tokens.expectSign("(");
  const items: Expression[] = [];
  do items.push(parseExpression(tokens));
  while (tokens.skipSign(","));
  tokens.expectSign(")");
  return { kind: "in", operand, items, isNegated };
};

const parseIsWhat = (tokens: TokenReader): IsWhat => {
  const what = (["NULL", "MISSING", "TRUE", "FALSE"] as const).find((word) => tokens.isWord(word));
  if (what === undefined) throw tokens.refusal("PARSE_EXPECTED_KEYWORD", "NULL or MISSING, found");
  tokens.take();
  return what;
};

const parseChain = (tokens: TokenReader): Expression => parseLinks(tokens, ["||"], parseSum);
const parseSum = (tokens: TokenReader): Expression => parseLinks(tokens, ["+", "-"], parseProduct);
const parseProduct = (tokens: TokenReader): Expression => parseLinks(tokens, ["*", "/", "%"], parseSigned);

const parseLinks = (
  tokens: TokenReader,
  operators: readonly ChainLink["operator"][],
  parse: (tokens: TokenReader) => Expression,
): Expression => {
  const first = parse(tokens);
  const rest: ChainLink[] = [];
  for (;;) {
    const operator = operators.find((each) => tokens.isSign(each));
    if (operator === undefined) return rest.length === 0 ? first : { kind: "chain", first, rest };
    tokens.take();
    rest.push({ operator, operand: parse(tokens) });
  }
};

const parseSigned = (tokens: TokenReader): Expression => {
  if (tokens.skipSign("+")) return tokens.nested(() => parseSigned(tokens));
  if (!tokens.skipSign("-")) return parsePrimary(tokens);
  const operand = tokens.nested(() => parseSigned(tokens));
  return { kind: "negation", operand };
};

const parsePrimary = (tokens: TokenReader): Expression => {
  const { kind, text, word } = tokens.next;
  if (kind === "number" || kind === "text") {
    tokens.take();
    if (kind === "number" && text.length > numberCharactersMax)
      throw refusal("LEXER_INVALID_LITERAL", `${shown(text)} has too many digits`);
    return { kind: "literal", value: kind === "text" ? text : literalNumber(text) };
  }
  if (tokens.skipSign("(")) {
    const inner = parseExpression(tokens);
    tokens.expectSign(")");
    return inner;
  }
  if (kind === "name") {
    if (word === "CASE") return tokens.nested(() => parseCase(tokens));
    if (word === "CAST") return tokens.nested(() => parseCast(tokens));
    if (word in constants) {
      tokens.take();
      return { kind: "literal", value: constants[word] };
    }
    if (keywords.has(word)) throw tokens.refusal("PARSE_UNEXPECTED_TERM");
    if (tokens.afterNext.kind === "sign" && tokens.afterNext.text === "(")
      return tokens.nested(() => parseCall(tokens, parseExpression));
  }
  if (kind !== "name" && kind !== "quotedName") throw tokens.refusal("PARSE_UNEXPECTED_TERM");
  tokens.take();
  const first = { kind: "name", name: text, isQuoted: kind === "quotedName" } as const;
  return { kind: "path", steps: [first, ...parsePathSteps(tokens)] };
};

const constants: Readonly<Record<string, Value>> = {
  NULL: null,
  MISSING: undefined,
  TRUE: true,
  FALSE: false,
};

const literalNumber = (text: string): Value => {
  if (/e/i.test(text)) return Number(text);
  return text.includes(".") ? decimalOf(text) : BigInt(text);
};

const parseCase = (tokens: TokenReader): Expression => {
  tokens.expectWord("CASE");
  const operand = tokens.isWord("WHEN") ? undefined : parseExpression(tokens);
  const branches: { readonly condition: Expression; readonly result: Expression }[] = [];
  while (tokens.skipWord("WHEN")) {
    const condition = parseExpression(tokens);
    tokens.expectWord("THEN");
    branches.push({ condition, result: parseExpression(tokens) });
  }
  if (branches.length === 0) throw tokens.refusal("PARSE_EXPECTED_KEYWORD", "WHEN, found");
  const otherwise = tokens.skipWord("ELSE") ? parseExpression(tokens) : undefined;
  tokens.expectWord("END");
  return { kind: "case", operand, branches, otherwise };
};

const parseCast = (tokens: TokenReader): Expression => {
  tokens.expectWord("CAST");
  tokens.expectSign("(");
  const operand = parseExpression(tokens);
  tokens.expectWord("AS");
  const type = parseCastType(tokens);
  tokens.expectSign(")");
  return { kind: "cast", operand, type };
};
