import { JsonCursor, openBrace, openBracket, quote } from "../json/json-cursor.ts";
import type { Leaf } from "./condition.ts";

/** An array, and the numbers of the first leaf in it and of the first one after it. */
export interface FlatArray {
  readonly id: number;
  readonly path: string;
  readonly begin: number;
  end: number;
  /** The literals directly in it: the number of the first one of each run and that after its last one. */
  readonly literals: number[];
}

/**
 * The element of an array that holds a value; all values in it have the same object. Two values in different elements
 * of the same array never meet one branch together. Literals directly in an array are not bound to their element.
 */
export interface Membership {
  readonly array: FlatArray;
  readonly index: number;
  /** The element of another array that holds this array; undefined: none. */
  readonly outer: Membership | undefined;
  /** The number of elements around this one. */
  readonly depth: number;
  /** The numbers of the first leaf in the element and of the first one after it. */
  readonly begin: number;
  end: number;
}

/** One leaf of an event with the array elements that hold it. */
export interface FlatLeaf {
  readonly leaf: Leaf;
  readonly membership: Membership | undefined;
  /** Its place among all leaves in document order. */
  readonly number: number;
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
  const leaves = new Leaves();
  new Scanner(text, wanted, leaves).value(undefined, undefined);
  return leaves.byPath;
};

/** Flattens an event from its fields and the text of its detail, which must be valid JSON. */
export const flattenEvent = (envelope: Envelope, detail: string, wanted: Wanted): FlatEvent => {
  const leaves = new Leaves();
  const add = (path: string, value: string): void => {
    if (wanted(path)) leaves.add(path, { kind: "text", text: value }, undefined);
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
  return leaves.byPath;
};

class Leaves {
  readonly byPath = new Map<string, FlatLeaf[]>();
  count = 0;

  add(path: string, leaf: Leaf, membership: Membership | undefined): void {
    const flat = { leaf, membership, number: this.count++ };
    const present = this.byPath.get(path);
    if (present === undefined) this.byPath.set(path, [flat]);
    else present.push(flat);
  }
}

/** Walks valid JSON once; values of other paths are skipped without being parsed. */
class Scanner {
  readonly #cursor: JsonCursor;
  readonly #wanted: Wanted;
  readonly #leaves: Leaves;
  #arrays = 0;

  constructor(text: string, wanted: Wanted, leaves: Leaves) {
    this.#cursor = new JsonCursor(text);
    this.#wanted = wanted;
    this.#leaves = leaves;
  }

  /** The path of the whole text is undefined, because a name may be empty. */
  value(path: string | undefined, membership: Membership | undefined): void {
    switch (this.#cursor.peek()) {
      case openBrace:
        return this.#object(path, membership);
      case openBracket:
        return this.#array(path, membership);
      case quote:
        return this.#leaves.add(path ?? "", { kind: "text", text: this.#cursor.string() }, membership);
      default: {
        const text = this.#cursor.literal();
        const kind = text === "true" || text === "false" || text === "null" ? "keyword" : "number";
        this.#leaves.add(path ?? "", { kind, text }, membership);
      }
    }
  }

  #object(path: string | undefined, membership: Membership | undefined): void {
    const cursor = this.#cursor;
    cursor.enter();
    while (cursor.hasMore()) {
      const name = cursor.memberName();
      const inner = path === undefined ? name : `${path}.${name}`;
      if (this.#wanted(inner)) this.value(inner, membership);
      else cursor.skipValue();
    }
  }

  #array(path: string | undefined, outer: Membership | undefined): void {
    const leaves = this.#leaves;
    const array: FlatArray = {
      id: this.#arrays++,
      path: path ?? "",
      begin: leaves.count,
      end: leaves.count,
      literals: [],
    };
    const depth = outer === undefined ? 0 : outer.depth + 1;
    const cursor = this.#cursor;
    cursor.enter();
    for (let index = 0; cursor.hasMore(); index += 1) {
      const first = cursor.peek();
      if (first !== openBrace && first !== openBracket) {
        this.value(path, outer);
        addLiteral(array.literals, leaves.count - 1);
      } else {
        const element: Membership = { array, index, outer, depth, begin: leaves.count, end: leaves.count };
        this.value(path, element);
        element.end = leaves.count;
      }
    }
    array.end = leaves.count;
  }
}

/** Adds the number of a literal to runs of them. */
const addLiteral = (runs: number[], number: number): void => {
  if (runs.at(-1) === number) runs[runs.length - 1] = number + 1;
  else runs.push(number, number + 1);
};
