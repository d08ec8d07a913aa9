import { refusal, shown } from "../refusal.ts";

/** A word, number or sign of a query. */
export interface Token {
  readonly kind: "name" | "quotedName" | "text" | "number" | "sign" | "end";
  /** A name as it is written, the content of a quoted name or text, the digits of a number, or the sign. */
  readonly text: string;
  /** The name in capitals, by which words of the language are recognized; empty for other kinds. */
  readonly word: string;
  /** Where it begins, from 1 on. */
  readonly column: number;
}

const signs = ["<>", "!=", "<=", ">=", "||", "=", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", ",", ".", ";"];

const isDigit = (character: string): boolean => character >= "0" && character <= "9";
const isNameStart = (character: string): boolean => /^[\p{L}_$]$/u.test(character);
const isNamePart = (character: string): boolean => /^[\p{L}\p{N}_$]$/u.test(character);

/**
 * Splits a query into tokens; the last one is the end. Comments and white space are left out. Throws
 * LEXER_INVALID_CHAR, LEXER_INVALID_LITERAL and LEXER_INVALID_ION_LITERAL.
 */
export const tokensOf = (query: string): Token[] => {
  const tokens: Token[] = [];
  let at = 0;
  while ((at = afterBlanks(query, at)) < query.length) {
    const token = tokenAt(query, at);
    tokens.push({ ...token, column: at + 1 });
    at = token.end;
  }
  tokens.push({ kind: "end", text: "the end of the expression", word: "", column: query.length + 1 });
  return tokens;
};

/** Where the next token begins. */
const afterBlanks = (query: string, from: number): number => {
  let at = from;
  while (at < query.length) {
    if (" \t\r\n\u00a0".includes(query.charAt(at))) at += 1;
    else if (query.startsWith("--", at)) at = endOr(query, query.indexOf("\n", at));
    else if (query.startsWith("/*", at)) {
      const end = query.indexOf("*/", at + 2);
      if (end === -1) throw refusal("LEXER_INVALID_LITERAL", `a comment at column ${at + 1} has no end`);
      at = end + 2;
    } else break;
  }
  return at;
};

const endOr = (query: string, index: number): number => (index === -1 ? query.length : index);

interface ReadToken {
  readonly kind: Token["kind"];
  readonly text: string;
  readonly word: string;
  /** The place after it. */
  readonly end: number;
}

const tokenAt = (query: string, at: number): ReadToken => {
  const character = String.fromCodePoint(query.codePointAt(at) ?? 0);
  if (character === "'") return quoted(query, at, "'", "text");
  if (character === '"') return quoted(query, at, '"', "quotedName");
  if (character === "`") throw refusal("LEXER_INVALID_ION_LITERAL", `a back quote at column ${at + 1}`);
  if (isDigit(character) || (character === "." && isDigit(query.charAt(at + 1)))) return numberAt(query, at);
  if (isNameStart(character)) return nameAt(query, at);
  const sign = signs.find((each) => query.startsWith(each, at));
  if (sign === undefined) throw refusal("LEXER_INVALID_CHAR", `${character} at column ${at + 1}`);
  return { kind: "sign", text: sign, word: "", end: at + sign.length };
};

/** A quote inside is written twice. */
const quoted = (query: string, at: number, quote: string, kind: "text" | "quotedName"): ReadToken => {
  const parts: string[] = [];
  for (let from = at + 1; ;) {
    const end = query.indexOf(quote, from);
    if (end === -1) throw refusal("LEXER_INVALID_LITERAL", `${quote} at column ${at + 1} has no end`);
    parts.push(query.slice(from, end));
    if (query.charAt(end + 1) !== quote) return { kind, text: parts.join(quote), word: "", end: end + 1 };
    from = end + 2;
  }
};

const numberAt = (query: string, at: number): ReadToken => {
  let end = afterDigits(query, at);
  if (query.charAt(end) === ".") end = afterDigits(query, end + 1);
  if (/^[eE][+-]?[0-9]$/.test(query.slice(end, end + (/^[eE][+-]/.test(query.slice(end, end + 2)) ? 3 : 2))))
    end = afterDigits(query, end + 2);
  const text = query.slice(at, end);
  if (isNamePart(query.charAt(end)))
    throw refusal("LEXER_INVALID_LITERAL", `${shown(text + query.charAt(end))} at column ${at + 1}`);
  return { kind: "number", text, word: "", end };
};

const afterDigits = (query: string, from: number): number => {
  let at = from;
  while (at < query.length && isDigit(query.charAt(at))) at += 1;
  return at;
};

const nameAt = (query: string, at: number): ReadToken => {
  let end = at;
  while (end < query.length) {
    const character = String.fromCodePoint(query.codePointAt(end) ?? 0);
    if (!isNamePart(character)) break;
    end += character.length;
  }
  const text = query.slice(at, end);
  return { kind: "name", text, word: text.toUpperCase(), end };
};
