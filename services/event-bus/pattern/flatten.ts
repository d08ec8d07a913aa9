import type { Leaf } from "./condition.ts";

/**
 * That a value stands in an element of an array: two values that name the same array with different indexes never
 * meet one branch together. Literals directly in an array are not bound to it.
 */
export interface Membership {
  readonly array: number;
  readonly index: number;
  /** The element that this array stands in. */
  readonly outer: Membership | undefined;
}

/** One leaf of an event with the array elements around it. */
export interface FlatLeaf {
  readonly leaf: Leaf;
  readonly membership: Membership | undefined;
}

/** The leaves of one event by path, in document order; only paths that somebody asks for. */
export type FlatEvent = ReadonlyMap<string, readonly FlatLeaf[]>;

/** The fields of an event around its detail. */
export interface Envelope {
  readonly id: string;
  readonly detailType: string;
  readonly source: string;
  readonly account: string;
  readonly time: string;
  readonly region: string;
  readonly resources: readonly string[];
  /** Set on events that a replay sends. */
  readonly replayName?: string;
}

/** Says whether a path or anything below it is asked for. */
export type Wanted = (path: string) => boolean;

/** Flattens a whole event given as text. The text must be valid JSON. */
export const flattenText = (text: string, wanted: Wanted): FlatEvent => {
  const leaves: MutableLeaves = new Map();
  new Scanner(text, wanted, leaves).value("", undefined);
  return leaves;
};

/** Flattens an event whose detail is still text. The detail must be valid JSON. */
export const flattenEvent = (envelope: Envelope, detail: string, wanted: Wanted): FlatEvent => {
  const leaves: MutableLeaves = new Map();
  const add = (path: string, value: string): void => {
    if (wanted(path)) addLeaf(leaves, path, { kind: "text", text: value }, undefined);
  };
  add("version", "0");
  add("id", envelope.id);
  add("detail-type", envelope.detailType);
  add("source", envelope.source);
  add("account", envelope.account);
  add("time", envelope.time);
  add("region", envelope.region);
  if (envelope.replayName !== undefined) add("replay-name", envelope.replayName);
  for (const resource of envelope.resources) add("resources", resource);
  if (wanted("detail")) new Scanner(detail, wanted, leaves).value("detail", undefined);
  return leaves;
};

type MutableLeaves = Map<string, FlatLeaf[]>;

const addLeaf = (leaves: MutableLeaves, path: string, leaf: Leaf, membership: Membership | undefined): void => {
  const present = leaves.get(path);
  if (present === undefined) leaves.set(path, [{ leaf, membership }]);
  else present.push({ leaf, membership });
};

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;

/** Walks valid JSON once; what nobody asks for is skipped without being read. */
class Scanner {
  readonly #text: string;
  readonly #wanted: Wanted;
  readonly #leaves: MutableLeaves;
  #at = 0;
  #arrays = 0;

  constructor(text: string, wanted: Wanted, leaves: MutableLeaves) {
    this.#text = text;
    this.#wanted = wanted;
    this.#leaves = leaves;
  }

  value(path: string, membership: Membership | undefined): void {
    switch (this.#peek()) {
      case openBrace:
        return this.#object(path, membership);
      case openBracket:
        return this.#array(path, membership);
      case quote:
        return addLeaf(this.#leaves, path, { kind: "text", text: this.#string() }, membership);
      default: {
        const start = this.#at;
        this.#skipLiteral();
        const text = this.#text.slice(start, this.#at);
        const kind = text === "true" || text === "false" || text === "null" ? "word" : "number";
        addLeaf(this.#leaves, path, { kind, text }, membership);
      }
    }
  }

  #object(path: string, membership: Membership | undefined): void {
    this.#at += 1;
    while (this.#peek() !== closeBrace) {
      const name = this.#string();
      this.#peek();
      this.#at += 1;
      const inner = path === "" ? name : `${path}.${name}`;
      if (this.#wanted(inner)) this.value(inner, membership);
      else this.#skipValue();
      if (this.#peek() === comma) this.#at += 1;
    }
    this.#at += 1;
  }

  #array(path: string, outer: Membership | undefined): void {
    const array = this.#arrays++;
    this.#at += 1;
    for (let index = 0; this.#peek() !== closeBracket; index += 1) {
      const first = this.#peek();
      const isBound = first === openBrace || first === openBracket;
      this.value(path, isBound ? { array, index, outer } : outer);
      if (this.#peek() === comma) this.#at += 1;
    }
    this.#at += 1;
  }

  /** The code of the next character that is not white space. */
  #peek(): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code > 0x20) return code;
      this.#at += 1;
      if (this.#at >= this.#text.length) return closeBrace;
    }
  }

  #string(): string {
    const start = this.#at;
    this.#skipString();
    const raw = this.#text.slice(start, this.#at);
    return raw.includes("\\") ? (JSON.parse(raw) as string) : raw.slice(1, -1);
  }

  #skipString(): void {
    let end = this.#at;
    for (;;) {
      end = this.#text.indexOf('"', end + 1);
      let backslashes = 0;
      while (this.#text.charCodeAt(end - 1 - backslashes) === backslash) backslashes += 1;
      if (backslashes % 2 === 0) break;
    }
    this.#at = end + 1;
  }

  #skipLiteral(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (!(code > 0x20) || code === comma || code === closeBrace || code === closeBracket) return;
      this.#at += 1;
    }
  }

  #skipValue(): void {
    let depth = 0;
    do {
      const code = this.#peek();
      if (code === quote) this.#skipString();
      else {
        if (code === openBrace || code === openBracket) depth += 1;
        else if (code === closeBrace || code === closeBracket) depth -= 1;
        else if (code !== comma && code !== 0x3a) {
          this.#skipLiteral();
          continue;
        }
        this.#at += 1;
      }
    } while (depth > 0);
  }
}
