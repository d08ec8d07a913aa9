import type { Growing } from "./integer-rows.ts";
import { IntegerRows } from "./integer-rows.ts";
import type { Steps } from "./steps.ts";

/** Numbered lists of values, each with a note, without an object for each. */
export class IntegerLists {
  /** The first entry and the number of entries of each list. */
  readonly #lists = new IntegerRows(2);
  /** The value, the note and the next entry of each entry. */
  readonly #entries = new IntegerRows(3);

  /** The number of lists. */
  get size(): number {
    return this.#lists.length;
  }

  /** Its parts that grow. */
  get parts(): readonly Growing[] {
    return [this.#lists, this.#entries];
  }

  /** The bytes of memory. */
  get bytes(): number {
    return this.#lists.bytes + this.#entries.bytes;
  }

  /** Adds an empty list and returns its number. */
  addList(): number {
    return this.#lists.add(-1, 0);
  }

  /** Adds a value to a list. */
  add(list: number, value: number, note = -1): void {
    const entry = this.#entries.add(value, note, this.#lists.at(list));
    this.#lists.set(list, 0, entry);
    this.#lists.set(list, 1, this.count(list) + 1);
  }

  count(list: number): number {
    return this.#lists.at(list, 1);
  }

  /** Calls `found` with each value of a list and its note. */
  each(list: number, found: (value: number, note: number) => void): void {
    for (let entry = this.first(list); entry !== -1; entry = this.next(entry))
      found(this.valueOf(entry), this.noteOf(entry));
  }

  /** The first entry of a list; -1: it is empty. */
  first(list: number): number {
    return this.#lists.at(list);
  }

  /** The next entry of the same list; -1: there is none. */
  next(entry: number): number {
    return this.#entries.at(entry, 2);
  }

  valueOf(entry: number): number {
    return this.#entries.at(entry);
  }

  noteOf(entry: number): number {
    return this.#entries.at(entry, 1);
  }

  /** Releases the room for further entries. */
  *trim(): Steps<void> {
    this.#lists.trim();
    yield;
    this.#entries.trim();
  }
}
