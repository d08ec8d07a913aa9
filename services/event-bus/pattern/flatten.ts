import { JsonCursor, openBrace, openBracket, quote } from "../json/json-cursor.ts";
import type { Leaf } from "./condition.ts";

/**
 * The element of an array that holds a value. Two values in different elements of the same array never meet one branch
 * together. Literals directly in an array are not bound to their element.
 */
export interface Membership {
  readonly array: number;
  readonly index: number;
  /** The element of another array that holds this array; undefined: none. */
  readonly outer: Membership | undefined;
}

/** One leaf of an event with the array elements that hold it. */
export interface FlatLeaf {
  readonly leaf: Leaf;
  readonly membership: Membership | undefined;
}

/** The leaves of one event by path, in document order; only of paths that a pattern names. */
export type FlatEvent = ReadonlyMap<string, readonly FlatLeaf[]>;

/** The fields of an event except its detail. */
export interface Envelope {
  readonly id: string;
  readonly detailType: string;
  readonly source: string;
  readonly account: string;
  readonly time: string;
  readonly region: string;
  readonly resources: readonly string[];
  /** Unset: no replay sent the event. */
  readonly replayName?: string;
}

/** Whether a pattern names a path or a path below it. */
type Wanted = (path: string) => boolean;

/** Flattens a whole event from its text, which must be valid JSON. */
export const flattenText = (text: string, wanted: Wanted): FlatEvent => {
  const leaves: MutableLeaves = new Map();
  new Scanner(text, wanted, leaves).value("", undefined);
  return leaves;
};

/** Flattens an event from its fields and the text of its detail, which must be valid JSON. */
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

/** Walks valid JSON once; values of other paths are skipped without being parsed. */
class Scanner {
  readonly #cursor: JsonCursor;
  readonly #wanted: Wanted;
  readonly #leaves: MutableLeaves;
  #arrays = 0;

  constructor(text: string, wanted: Wanted, leaves: MutableLeaves) {
    this.#cursor = new JsonCursor(text);
    this.#wanted = wanted;
    this.#leaves = leaves;
  }

  value(path: string, membership: Membership | undefined): void {
    switch (this.#cursor.peek()) {
      case openBrace:
        return this.#object(path, membership);
      case openBracket:
        return this.#array(path, membership);
      case quote:
        return addLeaf(this.#leaves, path, { kind: "text", text: this.#cursor.string() }, membership);
      default: {
        const text = this.#cursor.literal();
        const kind = text === "true" || text === "false" || text === "null" ? "keyword" : "number";
        addLeaf(this.#leaves, path, { kind, text }, membership);
      }
    }
  }

  #object(path: string, membership: Membership | undefined): void {
    const cursor = this.#cursor;
    cursor.enter();
    while (cursor.hasMore()) {
      const name = cursor.memberName();
      const inner = path === "" ? name : `${path}.${name}`;
      if (this.#wanted(inner)) this.value(inner, membership);
      else cursor.skipValue();
    }
  }

  #array(path: string, outer: Membership | undefined): void {
    const array = this.#arrays++;
    const cursor = this.#cursor;
    cursor.enter();
    for (let index = 0; cursor.hasMore(); index += 1) {
      const first = cursor.peek();
      const isBound = first === openBrace || first === openBracket;
      this.value(path, isBound ? { array, index, outer } : outer);
    }
  }
}
