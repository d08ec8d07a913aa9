import { IntegerLists } from "./integer-lists.ts";
import { IntegerRows } from "./integer-rows.ts";
import type { Steps } from "./steps.ts";
import { TextTable } from "./text-table.ts";

/**
 * An index of conditions that any text meets but those of a list. A text is looked up once: conditions that most of a
 * set exclude are not visited, so the cost grows with the number of conditions that are met, and with no other.
 */
export class ExclusionIndex {
  readonly #items = new IntegerRows(1);
  readonly #texts = new TextTable();
  /** For each text the positions of the items that exclude it. */
  readonly #excluding = new IntegerLists();
  /** The other items, for each text that most exclude. */
  readonly #others = new Map<number, Int32Array>();

  /** Adds the item of a condition. */
  add(texts: readonly string[], item: number): void {
    const position = this.#items.add(item);
    for (const text of texts) {
      const list = this.#texts.add(text);
      if (list === this.#excluding.size) this.#excluding.addList();
      const last = this.#excluding.first(list);
      if (last === -1 || this.#excluding.valueOf(last) !== position) this.#excluding.add(list, position);
    }
  }

  /** Builds the index after the last `add`. */
  *seal(): Steps<void> {
    for (let text = 0; text < this.#excluding.size; text += 1) {
      if (this.#excluding.count(text) * 2 > this.#items.length) this.#others.set(text, this.#othersOf(text));
      yield;
    }
  }

  /** Calls `found` with the item of every condition that the text meets. */
  findText(text: string, found: (item: number) => void): void {
    const excluded = this.#texts.find(text);
    if (excluded === -1) this.findAll(found);
    else (this.#others.get(excluded) ?? this.#othersOf(excluded)).forEach((item) => found(item));
  }

  /** Calls `found` with every item: a leaf that is no text meets all conditions. */
  findAll(found: (item: number) => void): void {
    for (let position = 0; position < this.#items.length; position += 1) found(this.#items.at(position));
  }

  /** The items that do not exclude a text. */
  #othersOf(text: number): Int32Array {
    const others = new Int32Array(this.#items.length - this.#excluding.count(text));
    let count = 0;
    // Of a list, the position that was added last comes first.
    let position = this.#items.length - 1;
    for (let entry = this.#excluding.first(text); position >= 0; position -= 1)
      if (entry !== -1 && this.#excluding.valueOf(entry) === position) entry = this.#excluding.next(entry);
      else others[count++] = this.#items.at(position);
    return others;
  }
}
