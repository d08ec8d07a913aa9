import { parseJson } from "../../../kit/json/parse-json.ts";
import { refusal } from "../refusal.ts";
import type { Value } from "./value.ts";
import { numericOf } from "./value.ts";

/** How deep lists and structures may nest. */
const depthMax = 500;

/**
 * Parses the text of one JSON value. Numbers are exact: integers without a fraction, decimals with one, floats with an
 * exponent. Of members with the same name the last one counts. Throws JSON_PARSING_ERROR.
 */
export const parseJsonValue = (text: string): Value => {
  const parser = new JsonParser(text);
  const value = parser.value(0);
  parser.expectEnd();
  return value;
};

const malformed = (what: string) => refusal("JSON_PARSING_ERROR", what);

class JsonParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): Value {
    if (depth > depthMax) throw malformed("it is nested too deeply");
    const first = this.#skipBlanks();
    if (first === 123) return this.#structure(depth);
    if (first === 91) return this.#list(depth);
    if (first === 34) return this.#string();
    if (first === 45 || (first >= 48 && first <= 57)) return this.#number();
    return this.#word();
  }

  expectEnd(): void {
    if (!Number.isNaN(this.#skipBlanks())) throw malformed("something follows a value");
  }

  /** The code of the next character that is no blank; NaN at the end. */
  #skipBlanks(): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return code;
      this.#at += 1;
    }
  }

  #structure(depth: number): Value {
    const members = new Map<string, Value>();
    this.#at += 1;
    if (this.#skipBlanks() === 125) return this.#ended(members);
    for (;;) {
      if (this.#skipBlanks() !== 34) throw malformed("a name of a member is expected");
      const name = this.#string();
      if (this.#skipBlanks() !== 58) throw malformed("a colon is expected");
      this.#at += 1;
      members.set(name, this.value(depth + 1));
      const follower = this.#skipBlanks();
      if (follower === 125) return this.#ended(members);
      if (follower !== 44) throw malformed("a comma or the end of an object is expected");
      this.#at += 1;
    }
  }

  #list(depth: number): Value {
    const items: Value[] = [];
    this.#at += 1;
    if (this.#skipBlanks() === 93) return this.#ended(items);
    for (;;) {
      items.push(this.value(depth + 1));
      const follower = this.#skipBlanks();
      if (follower === 93) return this.#ended(items);
      if (follower !== 44) throw malformed("a comma or the end of an array is expected");
      this.#at += 1;
    }
  }

  #ended(value: Value): Value {
    this.#at += 1;
    return value;
  }

  #string(): string {
    const start = this.#at;
    let hasEscapes = false;
    for (let at = start + 1; ; at++) {
      const code = this.#text.charCodeAt(at);
      if (code === 34) {
        this.#at = at + 1;
        return hasEscapes ? unescaped(this.#text.slice(start, at + 1)) : this.#text.slice(start + 1, at);
      }
      if (code === 92) {
        hasEscapes = true;
        at += 1;
      } else if (!(code >= 32)) throw malformed("a string has no end or contains a control character");
    }
  }

  #number(): Value {
    const start = this.#at;
    let at = start;
    while (isNumberPart(this.#text.charCodeAt(at))) at += 1;
    const written = this.#text.slice(start, at);
    const digits = written.startsWith("-") ? 1 : 0;
    const isPadded = written.charCodeAt(digits) === 48 && isDigit(written.charCodeAt(digits + 1));
    const point = written.indexOf(".");
    const isOpen = point !== -1 && !isDigit(written.charCodeAt(point + 1));
    const number = isPadded || isOpen || point === digits ? undefined : numericOf(written);
    if (number === undefined) throw malformed("a number is malformed or too large");
    this.#at = at;
    return number;
  }

  #word(): Value {
    for (const [word, value] of words)
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return value;
      }
    throw malformed("a value is expected");
  }
}

const words: readonly (readonly [string, Value])[] = [
  ["true", true],
  ["false", false],
  ["null", null],
];

const isDigit = (code: number): boolean => code >= 48 && code <= 57;

/** Digits, signs, the point and the exponent. */
const isNumberPart = (code: number): boolean =>
  isDigit(code) || code === 43 || code === 45 || code === 46 || code === 69 || code === 101;

const unescaped = (written: string): string => {
  try {
    return parseJson(written) as string;
  } catch (error) {
    if (error instanceof SyntaxError) throw malformed("a string has an invalid escape");
    throw error;
  }
};
