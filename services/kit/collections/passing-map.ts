/** So many entries are set in one Map. */
const renewedAfter = 256;

/**
 * A map that lives long, for entries that do not: calls that run, whoever waits for them. In a Map or a Set they would
 * burden the garbage collector. Whenever V8 cleans the table of a Map up, it makes a new one and leaves the old one
 * linked to it. Once such a table is in the old generation, the quick collections of new objects keep all tables after
 * it, and everything that was in them at the time, until the next collection of the whole heap. So this map begins
 * again with a Map of its own from time to time, which no earlier table is linked to.
 */
export class PassingMap<K, V> {
  #map = new Map<K, V>();
  #left = renewedAfter;

  get size(): number {
    return this.#map.size;
  }

  set(key: K, value: V): void {
    this.#left -= 1;
    if (this.#left === 0) {
      this.#left = renewedAfter;
      this.#map = new Map(this.#map);
    }
    this.#map.set(key, value);
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  /** Returns whether there was such an entry. */
  delete(key: K): boolean {
    return this.#map.delete(key);
  }

  /** In the order in which the keys were set first. An entry that is set meanwhile may be left out. */
  keys(): MapIterator<K> {
    return this.#map.keys();
  }

  /** The same of the values. */
  values(): MapIterator<V> {
    return this.#map.values();
  }
}
