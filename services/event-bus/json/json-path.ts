import { closeBrace, closeBracket, comma, colon, JsonCursor, openBrace, openBracket, quote } from "./json-cursor.ts";

/** One step of a path: a member's name, an element's index, or all members or elements. */
type Step = string | number | typeof all;

const all = Symbol("all");

/**
 * The text of the value at a path in valid JSON; undefined if there is none. A path begins with `$`, followed by the
 * names of members after dots and the indexes of elements in brackets (`$.detail.state`, `$.resources[0]`). Of members
 * with the same name, the last one counts. `*` instead of a name or an index means all, and the value is a list of what
 * is at the rest of the path (`$.detail.items[*].id`).
 */
export const readPath = (json: string, path: string): string | undefined => new PathReader(json, Infinity).read(path);

/** Whether a text is a path that can be read. */
export const isPath = (text: string): boolean => pathShape.test(text);

/** Characters that reading the paths of one text may pass: those of the largest event forty times. */
const passedCharactersMax = 10_000_000;

/** Reading paths passed more than `passedCharactersMax` characters. */
export class PathsTooCostlyError extends Error {
  override readonly name = "PathsTooCostlyError";

  constructor() {
    super(`the paths pass more than ${passedCharactersMax} characters of the event`);
  }
}

/** Values that are shorter are passed again, which costs less than knowing where they end. */
const longCharacters = 64;
/** What passing a value counts at least, in characters. */
const leastCharacters = 8;
/** What following one of all members or elements counts in addition. */
const partCharacters = 32;
/** Members or elements of which a list is made when they are passed again. */
const manyParts = 16;

/**
 * Reads several paths of one text of valid JSON, as `readPath` does. A long value is passed once, however many paths
 * lead past or through it: a target may have hundreds of paths, each with a hundred steps.
 */
export class PathReader {
  readonly #json: string;
  /** Where long values end, by where they begin. */
  readonly #ends = new Map<number, number>();
  /** Objects and lists with many parts that were passed, by where they begin. */
  readonly #crowded = new Set<number>();
  /** Where the parts of those begin that were passed again. */
  readonly #members = new Map<number, Map<string, number>>();
  readonly #parts = new Map<number, readonly number[]>();
  #left: number;

  /** The paths of the text may pass so many characters. */
  constructor(json: string, passedMax = passedCharactersMax) {
    this.#json = json;
    this.#left = passedMax;
  }

  /** The text of the value at a path; undefined if there is none. Throws PathsTooCostlyError. */
  read(path: string): string | undefined {
    const steps = parsePath(path);
    if (steps === undefined) return undefined;
    let found = [0];
    let isList = false;
    for (const step of steps) {
      if (step === all) {
        if (!isList && !this.#isComposed(found[0] ?? 0)) return undefined;
        isList = true;
        found = found.flatMap((at) => this.#partsAt(at));
      } else found = found.flatMap((at) => this.#part(at, step) ?? []);
      if (!isList && found.length === 0) return undefined;
    }
    const texts = found.map((at) => this.#text(at));
    if (!isList) return texts[0];
    for (const { length } of texts) this.#spend(length);
    return `[${texts.join()}]`;
  }

  #text(at: number): string {
    const cursor = new JsonCursor(this.#json, at);
    cursor.peek();
    const start = cursor.at;
    this.#skip(cursor);
    return this.#json.slice(start, cursor.at);
  }

  #isComposed(at: number): boolean {
    return this.#enter(at) !== undefined;
  }

  /** Enters the object or the list at a place; with the code of its opening character, only one of this kind. */
  #enter(at: number, opening?: number): JsonCursor | undefined {
    const cursor = new JsonCursor(this.#json, at);
    const first = cursor.peek();
    if (first !== openBrace && first !== openBracket) return undefined;
    if (opening !== undefined && first !== opening) return undefined;
    cursor.enter();
    return cursor;
  }

  #part(at: number, step: string | number): number | undefined {
    this.#spend(partCharacters);
    return typeof step === "string" ? this.#member(at, step) : this.#element(at, step);
  }

  #member(at: number, name: string): number | undefined {
    const cursor = this.#enter(at, openBrace);
    if (cursor === undefined) return undefined;
    if (this.#crowded.has(at)) return this.#membersAt(at, cursor).get(name);
    let found: number | undefined;
    let passed = 0;
    for (; cursor.hasMore(); passed += 1) {
      if (this.#memberName(cursor) === name) found = cursor.at;
      this.#skip(cursor);
    }
    if (passed > manyParts) this.#crowded.add(at);
    return found;
  }

  #membersAt(at: number, cursor: JsonCursor): Map<string, number> {
    let members = this.#members.get(at);
    if (members === undefined) {
      members = new Map();
      while (cursor.hasMore()) {
        members.set(this.#memberName(cursor), cursor.at);
        this.#skip(cursor);
      }
      this.#members.set(at, members);
    }
    return members;
  }

  #element(at: number, index: number): number | undefined {
    const cursor = this.#enter(at, openBracket);
    if (cursor === undefined) return undefined;
    if (this.#crowded.has(at)) return this.#partsAt(at)[index];
    for (let passed = 0; cursor.hasMore(); passed += 1) {
      if (passed === index) return cursor.at;
      if (passed > manyParts) this.#crowded.add(at);
      this.#skip(cursor);
    }
    return undefined;
  }

  /** Where the values in an object or a list begin; of anything else, none. */
  #partsAt(at: number): readonly number[] {
    const known = this.#parts.get(at);
    if (known !== undefined) return known;
    const cursor = this.#enter(at);
    if (cursor === undefined) return [];
    const isObject = this.#json.charCodeAt(cursor.at - 1) === openBrace;
    const parts: number[] = [];
    while (cursor.hasMore()) {
      if (isObject) this.#memberName(cursor);
      parts.push(cursor.at);
      this.#skip(cursor);
    }
    if (parts.length > manyParts) this.#parts.set(at, parts);
    return parts;
  }

  #memberName(cursor: JsonCursor): string {
    const start = cursor.at;
    const name = cursor.memberName();
    this.#spend(cursor.at - start);
    return name;
  }

  /** Moves after the next value. Notes the ends of long values in it. */
  #skip(cursor: JsonCursor): void {
    cursor.peek();
    const start = cursor.at;
    const known = this.#ends.get(start);
    if (known !== undefined) cursor.at = known;
    else this.#skipNew(cursor);
    this.#spend(known === undefined ? cursor.at - start : 0);
  }

  #skipNew(cursor: JsonCursor): void {
    const open: number[] = [];
    do {
      const code = cursor.peek();
      const start = cursor.at;
      if (code === closeBrace || code === closeBracket) {
        cursor.at += 1;
        this.#note(open.pop() ?? start, cursor.at);
      } else if (code === comma || code === colon) cursor.at += 1;
      else if (code === openBrace || code === openBracket) {
        const known = this.#ends.get(start);
        if (known === undefined) open.push(start);
        cursor.at = known ?? start + 1;
      } else {
        cursor.skipValue();
        if (code === quote) this.#note(start, cursor.at);
      }
    } while (open.length > 0);
  }

  #note(start: number, end: number): void {
    if (end - start > longCharacters) this.#ends.set(start, end);
  }

  #spend(characters: number): void {
    this.#left -= Math.max(characters, leastCharacters);
    if (this.#left < 0) throw new PathsTooCostlyError();
  }
}

const pathShape = /^\$(?:\.[^.[\]]+|\[(?:[0-9]+|\*)\])*$/;
const stepShape = /\.([^.[\]]+)|\[([0-9]+|\*)\]/g;

const parsePath = (path: string): Step[] | undefined => {
  if (!pathShape.test(path)) return undefined;
  return [...path.matchAll(stepShape)].map(([, name, index]) =>
    name === "*" || index === "*" ? all : (name ?? Number(index)),
  );
};
