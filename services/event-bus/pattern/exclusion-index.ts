import type { Steps } from "./steps.ts";

/** The positions of items that exclude a text; of many, the other items. */
type Exclusion<T> = { readonly excluded: ReadonlySet<number> } | { readonly others: readonly T[] };

/**
 * An index of conditions that any text meets but those of a list. A text is looked up once: conditions that most of a
 * set exclude are not visited, so the cost grows with the number of conditions that are met, and with no other.
 */
export class ExclusionIndex<T> {
  readonly #items: T[] = [];
  #positions = new Map<string, Set<number>>();
  readonly #exclusions = new Map<string, Exclusion<T>>();

  /** Adds the item of a condition. */
  add(texts: readonly string[], item: T): void {
    const position = this.#items.push(item) - 1;
    for (const text of texts) {
      const present = this.#positions.get(text);
      if (present === undefined) this.#positions.set(text, new Set([position]));
      else present.add(position);
    }
  }

  /** Builds the index after the last `add`. */
  *seal(): Steps<void> {
    for (const [text, excluded] of this.#positions) {
      this.#exclusions.set(
        text,
        excluded.size * 2 > this.#items.length
          ? { others: this.#items.filter((_item, position) => !excluded.has(position)) }
          : { excluded },
      );
      yield;
    }
    this.#positions = new Map();
  }

  /** Calls `found` with the item of every condition that the text meets. */
  findText(text: string, found: (item: T) => void): void {
    const exclusion = this.#exclusions.get(text);
    if (exclusion === undefined) this.#items.forEach(found);
    else if ("others" in exclusion) exclusion.others.forEach(found);
    else for (const [position, item] of this.#items.entries()) if (!exclusion.excluded.has(position)) found(item);
  }

  /** Calls `found` with every item: a leaf that is no text meets all conditions. */
  findAll(found: (item: T) => void): void {
    this.#items.forEach(found);
  }
}
