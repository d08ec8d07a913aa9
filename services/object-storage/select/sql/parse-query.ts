import { refusal } from "../refusal.ts";
import { parseExpression } from "./parse-expression.ts";
import { parsePathSteps } from "./parse-path.ts";
import type { Expression, PathStep, Query, SelectedValue } from "./syntax.ts";
import { TokenReader } from "./token-reader.ts";

/** Words that end a list of the query, so that they are no alias. */
const reserved = ["FROM", "WHERE", "LIMIT", "GROUP", "HAVING", "ORDER", "JOIN", "AT", "BY", "UNION", "AS"];

/**
 * Parses a query:
 *
 *     SELECT { * | alias.* | expression [[AS] name], ... } FROM S3Object[path] [[AS] alias]
 *     [WHERE expression] [LIMIT number]
 *
 * Throws the refusals of the lexer and of the parser.
 */
export const parseQuery = (text: string): Query => {
  const tokens = new TokenReader(text);
  tokens.expectWord("SELECT");
  if (tokens.isWord("DISTINCT", "ALL")) throw tokens.refusal("PARSE_UNSUPPORTED_SYNTAX");
  const list = parseList(tokens);
  const isAggregated = tokens.hasAggregates;
  if (!tokens.skipWord("FROM")) {
    if (tokens.next.kind === "end") throw refusal("PARSE_SELECT_MISSING_FROM");
    throw tokens.refusal("PARSE_UNEXPECTED_TOKEN");
  }
  const { from, alias } = parseFrom(tokens);
  const where = tokens.skipWord("WHERE") ? parseExpression(tokens) : undefined;
  const limit = tokens.skipWord("LIMIT") ? parseLimit(tokens) : undefined;
  tokens.skipSign(";");
  if (tokens.isWord("GROUP", "HAVING", "ORDER", "JOIN", "UNION", "OFFSET"))
    throw tokens.refusal("PARSE_UNSUPPORTED_SYNTAX");
  if (tokens.next.kind !== "end") throw tokens.refusal("PARSE_UNEXPECTED_TOKEN");
  return {
    selected: isWholeRecord(list, alias) ? undefined : list,
    from,
    alias,
    isAggregated,
    where,
    limit,
  };
};

const star: Expression = { kind: "path", steps: [{ kind: "members" }] };

const parseList = (tokens: TokenReader): SelectedValue[] => {
  if (tokens.isWord("FROM")) throw refusal("PARSE_EMPTY_SELECT");
  if (tokens.skipSign("*")) {
    if (tokens.isSign(",")) throw refusal("PARSE_ASTERISK_IS_NOT_ALONE_IN_SELECT_LIST");
    return [{ expression: star, alias: undefined }];
  }
  const list: SelectedValue[] = [];
  do {
    if (tokens.isSign("*")) throw refusal("PARSE_ASTERISK_IS_NOT_ALONE_IN_SELECT_LIST");
    list.push({ expression: parseExpression(tokens), alias: parseAlias(tokens) });
  } while (tokens.skipSign(","));
  return list;
};

/** The name after an expression or a source, with or without AS; undefined if there is none. */
const parseAlias = (tokens: TokenReader): string | undefined => {
  const isAnnounced = tokens.skipWord("AS");
  const { kind, text } = tokens.next;
  if (kind === "quotedName" || (kind === "name" && !tokens.isWord(...reserved))) {
    tokens.take();
    return text;
  }
  if (isAnnounced) throw tokens.refusal("PARSE_EXPECTED_IDENT_FOR_ALIAS");
  return undefined;
};

const parseFrom = (tokens: TokenReader): { readonly from: readonly PathStep[]; readonly alias: string | undefined } => {
  const { kind, text } = tokens.next;
  if (kind !== "name" && kind !== "quotedName") throw tokens.refusal("PARSE_UNEXPECTED_TOKEN");
  if (text.toUpperCase() !== "S3OBJECT") throw tokens.refusal("EVALUATOR_BINDING_DOES_NOT_EXIST");
  tokens.take();
  const from = parsePathSteps(tokens);
  const alias = parseAlias(tokens);
  if (tokens.isSign(",") || tokens.isWord("JOIN", "AT", "BY")) throw tokens.refusal("PARSE_UNSUPPORTED_SYNTAX");
  return { from, alias };
};

const parseLimit = (tokens: TokenReader): number => {
  const { kind, text } = tokens.next;
  const limit = Number(text);
  if (kind !== "number" || !Number.isSafeInteger(limit) || text.includes("."))
    throw tokens.refusal("PARSE_EXPECTED_NUMBER");
  tokens.take();
  return limit;
};

/** Whether the list is `*`, or a star after the alias of the source. */
const isWholeRecord = (list: readonly SelectedValue[], alias: string | undefined): boolean => {
  const isStar = ({ expression }: SelectedValue): boolean =>
    expression.kind === "path" &&
    expression.steps.at(-1)?.kind === "members" &&
    stepsInside(expression.steps, alias).length === 1;
  if (!list.some(isStar)) return false;
  if (list.length > 1) throw refusal("PARSE_ASTERISK_IS_NOT_ALONE_IN_SELECT_LIST");
  return true;
};

/** A path of the query as one into the record: without the alias of the source, or its name. */
export const stepsInside = (steps: readonly PathStep[], alias: string | undefined): readonly PathStep[] => {
  const [first] = steps;
  if (first?.kind !== "name") return steps;
  const isCalled = (name: string): boolean =>
    first.isQuoted ? first.name === name : first.name.toLowerCase() === name.toLowerCase();
  return isCalled("S3Object") || (alias !== undefined && isCalled(alias)) ? steps.slice(1) : steps;
};
