import { HashChains, hashOfPair } from "./hash-chains.ts";
import type { Growing } from "./integer-rows.ts";
import { IntegerRows } from "./integer-rows.ts";
import type { Steps } from "./steps.ts";

/** Different pairs of integers, numbered in the order of their addition, without an object for each. */
export class PairTable {
  readonly #chains = new HashChains();
  readonly #pairs = new IntegerRows(2);

  get size(): number {
    return this.#chains.size;
  }

  /** Its parts that grow. */
  get parts(): readonly Growing[] {
    return [...this.#chains.parts, this.#pairs];
  }

  /** The bytes of memory. */
  get bytes(): number {
    return this.#chains.bytes + this.#pairs.bytes;
  }

  /** The number of a pair, which is added unless it is present. */
  add(first: number, second: number): number {
    const hash = hashOfPair(first, second);
    const present = this.#find(hash, first, second);
    if (present !== -1) return present;
    this.#pairs.add(first, second);
    return this.#chains.add(hash);
  }

  /** The number of a pair; -1: it has not been added. */
  find(first: number, second: number): number {
    return this.#find(hashOfPair(first, second), first, second);
  }

  firstOf(pair: number): number {
    return this.#pairs.at(pair);
  }

  secondOf(pair: number): number {
    return this.#pairs.at(pair, 1);
  }

  /** Releases the room for further pairs. */
  *trim(): Steps<void> {
    this.#chains.trim();
    yield;
    this.#pairs.trim();
  }

  #find(hash: number, first: number, second: number): number {
    for (let pair = this.#chains.first(hash); pair !== -1; pair = this.#chains.next(pair))
      if (this.#pairs.at(pair) === first && this.#pairs.at(pair, 1) === second) return pair;
    return -1;
  }
}
