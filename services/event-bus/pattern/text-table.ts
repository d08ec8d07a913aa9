import { HashChains, hashOfText } from "./hash-chains.ts";
import { IntegerRows } from "./integer-rows.ts";

const noCharacters = new Uint16Array(0);

/** Different texts, numbered in the order of their addition, without an object for each. */
export class TextTable {
  readonly #chains = new HashChains();
  readonly #ends = new IntegerRows(1);
  #characters = noCharacters;

  get size(): number {
    return this.#chains.size;
  }

  /** The bytes of memory. */
  get bytes(): number {
    return this.#chains.bytes + this.#ends.bytes + this.#characters.byteLength;
  }

  /** The number of a text, which is added unless it is present. */
  add(text: string): number {
    const hash = hashOfText(text, 0, text.length);
    const present = this.#find(hash, text, 0, text.length);
    if (present !== -1) return present;
    const begin = this.#beginOf(this.size);
    const end = begin + text.length;
    if (end > this.#characters.length) this.#resize(Math.max(end, this.#characters.length * 2));
    for (let at = 0; at < text.length; at += 1) this.#characters[begin + at] = text.charCodeAt(at);
    this.#ends.add(end);
    return this.#chains.add(hash);
  }

  /** The number of a part of a text; -1: it has not been added. */
  find(text: string, begin = 0, end = text.length): number {
    return this.#find(hashOfText(text, begin, end), text, begin, end);
  }

  /** Releases the room for further texts. */
  trim(): void {
    this.#chains.trim();
    this.#ends.trim();
    this.#resize(this.#beginOf(this.size));
  }

  #find(hash: number, text: string, begin: number, end: number): number {
    for (let member = this.#chains.first(hash); member !== -1; member = this.#chains.next(member))
      if (this.#isEqual(member, text, begin, end)) return member;
    return -1;
  }

  #isEqual(member: number, text: string, begin: number, end: number): boolean {
    const from = this.#beginOf(member);
    const length = end - begin;
    if (this.#ends.at(member) - from !== length) return false;
    for (let at = 0; at < length; at += 1)
      if (this.#characters[from + at] !== text.charCodeAt(begin + at)) return false;
    return true;
  }

  #beginOf(member: number): number {
    return member === 0 ? 0 : this.#ends.at(member - 1);
  }

  #resize(capacity: number): void {
    const before = this.#characters;
    if (capacity === before.length) return;
    this.#characters = new Uint16Array(capacity);
    this.#characters.set(before.length > capacity ? before.subarray(0, capacity) : before);
  }
}
