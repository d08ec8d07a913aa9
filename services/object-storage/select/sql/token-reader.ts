import type { SelectReason } from "../refusal.ts";
import { refusal, shown } from "../refusal.ts";
import type { Token } from "./token.ts";
import { tokensOf } from "./token.ts";

/** How deep expressions may nest. */
const depthMax = 100;

/** The tokens of a query, one after the other. */
export class TokenReader {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;
  #chained = 0;
  /** Whether an aggregate function was read. */
  hasAggregates = false;

  constructor(query: string) {
    this.#tokens = tokensOf(query);
  }

  get next(): Token {
    return this.#tokens[this.#at] as Token;
  }

  get afterNext(): Token {
    return this.#tokens[Math.min(this.#at + 1, this.#tokens.length - 1)] as Token;
  }

  /** Returns the next token and moves on; never past the end. */
  take(): Token {
    const token = this.next;
    if (token.kind !== "end") this.#at += 1;
    return token;
  }

  isWord(...words: readonly string[]): boolean {
    return this.next.kind === "name" && words.includes(this.next.word);
  }

  isSign(...signs: readonly string[]): boolean {
    return this.next.kind === "sign" && signs.includes(this.next.text);
  }

  /** Moves over the word if it is the next token. */
  skipWord(...words: readonly string[]): boolean {
    const isNext = this.isWord(...words);
    if (isNext) this.take();
    return isNext;
  }

  skipSign(sign: string): boolean {
    const isNext = this.isSign(sign);
    if (isNext) this.take();
    return isNext;
  }

  expectWord(word: string): void {
    if (!this.skipWord(word)) throw this.refusal("PARSE_EXPECTED_KEYWORD", `${word}, found`);
  }

  expectSign(sign: string): void {
    if (!this.skipSign(sign)) throw this.refusal("PARSE_UNEXPECTED_TOKEN", `expected ${sign}, found`);
  }

  /** Throws what refuses the next token; `what` comes before it in the message. */
  refusal(reason: SelectReason, what = ""): Error {
    const { text, column } = this.next;
    return refusal(reason, `${what === "" ? "" : `${what} `}${shown(text)} at column ${column}`);
  }

  /** Counts a condition on the result of a condition, as in `a = b = c`: each is a level more, without parentheses. */
  countChained(): void {
    if (this.#chained === depthMax) throw this.refusal("PARSE_UNSUPPORTED_SYNTAX", "nested too deeply:");
    this.#chained += 1;
  }

  /** Reads a part that may contain parts like itself. Throws PARSE_UNSUPPORTED_SYNTAX if it is nested too deeply. */
  nested<T>(read: () => T): T {
    if (this.#depth === depthMax) throw this.refusal("PARSE_UNSUPPORTED_SYNTAX", "nested too deeply:");
    this.#depth += 1;
    const result = read();
    this.#depth -= 1;
    return result;
  }
}
