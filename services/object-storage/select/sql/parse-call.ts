import { refusal, shown } from "../refusal.ts";
import type { DatePart, Expression } from "./syntax.ts";
import { aggregateNames, datePartNames } from "./syntax.ts";
import type { TokenReader } from "./token-reader.ts";

/** The fewest and most arguments of each function, by its name in capitals. */
const argumentsOf: Readonly<Record<string, readonly [number, number]>> = {
  LOWER: [1, 1],
  UPPER: [1, 1],
  CHAR_LENGTH: [1, 1],
  CHARACTER_LENGTH: [1, 1],
  COALESCE: [1, 1000],
  NULLIF: [2, 2],
  TO_TIMESTAMP: [1, 1],
  TO_STRING: [2, 2],
  UTCNOW: [0, 0],
};

type ParseExpression = (tokens: TokenReader) => Expression;

/** Reads a call. The next tokens are the function's name and a parenthesis. */
export const parseCall = (tokens: TokenReader, parseExpression: ParseExpression): Expression => {
  const { text, word: name } = tokens.take();
  tokens.expectSign("(");
  const aggregate = aggregateNames.find((each) => each === name);
  if (aggregate !== undefined) return parseAggregate(tokens, aggregate, parseExpression);
  if (name === "TRIM") return parseTrim(tokens, parseExpression);
  if (name === "SUBSTRING") return parseSubstring(tokens, parseExpression);
  if (name === "EXTRACT") return parseExtract(tokens, parseExpression);
  if (name === "DATE_ADD" || name === "DATE_DIFF") {
    const part = parseDatePart(tokens, datePartNames.slice(0, 6));
    tokens.expectSign(",");
    const parameters = parseArguments(tokens, parseExpression);
    checkCount(name, parameters, 2, 2);
    return { kind: "datePart", part, name, parameters };
  }
  const counts = Object.hasOwn(argumentsOf, name) ? argumentsOf[name] : undefined;
  if (counts === undefined) throw refusal("UNSUPPORTED_FUNCTION", shown(text));
  const parameters = parseArguments(tokens, parseExpression);
  checkCount(name, parameters, ...counts);
  return { kind: "call", name, parameters };
};

/** The arguments up to the closing parenthesis, which is read. */
const parseArguments = (tokens: TokenReader, parseExpression: ParseExpression): Expression[] => {
  const parameters: Expression[] = [];
  if (tokens.skipSign(")")) return parameters;
  do {
    if (tokens.isSign("*")) throw refusal("PARSE_UNSUPPORTED_CALL_WITH_STAR");
    parameters.push(parseExpression(tokens));
  } while (tokens.skipSign(","));
  tokens.expectSign(")");
  return parameters;
};

const checkCount = (name: string, parameters: readonly Expression[], min: number, max: number): void => {
  if (parameters.length >= min && parameters.length <= max) return;
  const count = min === max ? String(min) : `${min} or more`;
  throw refusal("EVALUATOR_INVALID_ARGUMENTS", `${name} needs ${count} arguments, found ${parameters.length}.`);
};

const parseAggregate = (
  tokens: TokenReader,
  name: (typeof aggregateNames)[number],
  parseExpression: ParseExpression,
): Expression => {
  tokens.hasAggregates = true;
  if (name === "COUNT" && tokens.skipSign("*")) {
    tokens.expectSign(")");
    return { kind: "aggregate", name, operand: undefined };
  }
  if (tokens.isWord("DISTINCT", "ALL")) throw tokens.refusal("PARSE_UNSUPPORTED_SYNTAX");
  const [operand, ...more] = parseArguments(tokens, parseExpression);
  if (operand === undefined || more.length > 0) throw refusal("PARSE_NON_UNARY_AGGREGATE_FUNCTION_CALL");
  return { kind: "aggregate", name, operand };
};

/** `TRIM([[LEADING | TRAILING | BOTH] [characters] FROM] text)`. */
const parseTrim = (tokens: TokenReader, parseExpression: ParseExpression): Expression => {
  const side = (["LEADING", "TRAILING", "BOTH"] as const).find((word) => tokens.skipWord(word)) ?? "BOTH";
  const first = tokens.isWord("FROM") ? undefined : parseExpression(tokens);
  const operand = tokens.skipWord("FROM") ? parseExpression(tokens) : undefined;
  if (operand === undefined && first === undefined) throw tokens.refusal("PARSE_UNEXPECTED_TERM");
  tokens.expectSign(")");
  if (operand === undefined) return { kind: "trim", side, characters: undefined, operand: first as Expression };
  return { kind: "trim", side, characters: first, operand };
};

/** `SUBSTRING(text FROM start [FOR length])`, or with commas. */
const parseSubstring = (tokens: TokenReader, parseExpression: ParseExpression): Expression => {
  const parameters = [parseExpression(tokens)];
  if (tokens.skipWord("FROM")) {
    parameters.push(parseExpression(tokens));
    if (tokens.skipWord("FOR")) parameters.push(parseExpression(tokens));
    tokens.expectSign(")");
  } else if (tokens.skipSign(",")) parameters.push(...parseArguments(tokens, parseExpression));
  else tokens.expectSign(")");
  checkCount("SUBSTRING", parameters, 2, 3);
  return { kind: "call", name: "SUBSTRING", parameters };
};

const parseExtract = (tokens: TokenReader, parseExpression: ParseExpression): Expression => {
  const part = parseDatePart(tokens, datePartNames);
  tokens.expectWord("FROM");
  const operand = parseExpression(tokens);
  tokens.expectSign(")");
  return { kind: "datePart", part, name: "EXTRACT", parameters: [operand] };
};

const parseDatePart = (tokens: TokenReader, allowed: readonly DatePart[]): DatePart => {
  const part = allowed.find((each) => tokens.isWord(each));
  if (part === undefined) throw tokens.refusal("PARSE_EXPECTED_DATE_PART");
  tokens.take();
  return part;
};
