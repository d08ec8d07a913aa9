import { PatternError } from "./pattern-error.ts";

/**
 * JSON as it was written: members of an object keep their order and may repeat, numbers keep their text. `end` is the
 * offset after the value, for the position of an error.
 */
export type JsonNode = JsonText | JsonNumber | JsonKeyword | JsonList | JsonObject;

interface JsonText {
  readonly kind: "text";
  readonly value: string;
  readonly end: number;
}
interface JsonNumber {
  readonly kind: "number";
  readonly text: string;
  readonly end: number;
}
interface JsonKeyword {
  readonly kind: "keyword";
  readonly value: "true" | "false" | "null";
  readonly end: number;
}
/** A list of JSON values. */
export interface JsonList {
  readonly kind: "list";
  readonly items: readonly JsonNode[];
  readonly end: number;
}
/** An object with its members in their order. */
export interface JsonObject {
  readonly kind: "object";
  readonly members: readonly JsonMember[];
  readonly end: number;
}
/** A member of an object. */
export interface JsonMember {
  readonly name: string;
  readonly value: JsonNode;
}

/** Levels of lists and objects in a pattern; deeper ones are refused before the stack overflows. */
const depthMax = 1000;

/** Parses one JSON value. Throws PatternError if the text is not exactly one. */
export const readJson = (source: string): JsonNode => {
  const reader = new JsonReader(source);
  const node = reader.value(0);
  reader.finish();
  return node;
};

const numberShape = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
// eslint-disable-next-line no-control-regex -- JSON forbids these characters in strings.
const textShape = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const blankShape = /[ \t\r\n]*/y;

class JsonReader {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  value(depth: number): JsonNode {
    if (depth > depthMax) throw this.#error(`more than ${depthMax} levels are nested`);
    this.#blanks();
    const first = this.#source[this.#at];
    if (first === "{") return this.#object(depth);
    if (first === "[") return this.#list(depth);
    if (first === '"') return { kind: "text", value: this.#text(), end: this.#at };
    const number = this.#match(numberShape);
    if (number !== undefined) return { kind: "number", text: number, end: this.#at };
    for (const keyword of ["true", "false", "null"] as const)
      if (this.#source.startsWith(keyword, this.#at)) {
        this.#at += keyword.length;
        return { kind: "keyword", value: keyword, end: this.#at };
      }
    throw this.#unexpected();
  }

  finish(): void {
    this.#blanks();
    if (this.#at < this.#source.length) throw this.#unexpected();
  }

  #object(depth: number): JsonObject {
    const members: JsonMember[] = [];
    this.#at += 1;
    if (!this.#skip("}"))
      do {
        this.#blanks();
        if (this.#source[this.#at] !== '"') throw this.#unexpected();
        const name = this.#text();
        this.#expect(":");
        members.push({ name, value: this.value(depth + 1) });
      } while (this.#continues("}"));
    return { kind: "object", members, end: this.#at };
  }

  #list(depth: number): JsonList {
    const items: JsonNode[] = [];
    this.#at += 1;
    if (!this.#skip("]"))
      do items.push(this.value(depth + 1));
      while (this.#continues("]"));
    return { kind: "list", items, end: this.#at };
  }

  /** Whether a comma follows, and so another item. If not, the closing character must follow. */
  #continues(closing: string): boolean {
    if (this.#skip(",")) return true;
    this.#expect(closing);
    return false;
  }

  #text(): string {
    const raw = this.#match(textShape);
    if (raw === undefined) throw this.#error("a string is not closed or holds what must be escaped");
    return raw.includes("\\") ? (JSON.parse(raw) as string) : raw.slice(1, -1);
  }

  #match(shape: RegExp): string | undefined {
    shape.lastIndex = this.#at;
    const found = shape.exec(this.#source)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #blanks(): void {
    this.#match(blankShape);
  }

  #skip(character: string): boolean {
    this.#blanks();
    if (this.#source[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #expect(character: string): void {
    if (!this.#skip(character)) throw this.#unexpected();
  }

  #unexpected(): PatternError {
    const found = this.#source.codePointAt(this.#at);
    return this.#error(
      found === undefined ? "the JSON ends too early" : `unexpected ${JSON.stringify(String.fromCodePoint(found))}`,
    );
  }

  #error(reason: string): PatternError {
    return new PatternError(`JSON syntax error: ${reason}`, this.#at);
  }
}
