import { HashChains, hashOfText } from "./hash-chains.ts";
import type { Growing } from "./integer-rows.ts";
import { IntegerRows } from "./integer-rows.ts";
import type { Steps } from "./steps.ts";

/** Characters of the first chunk, and of all later ones. */
const chunkMin = 16;
const chunkMax = 32_768;

/**
 * Different texts, numbered in the order of their addition, without an object for each. Their characters are in chunks,
 * so that adding one never copies those that are present.
 */
export class TextTable {
  readonly #chains = new HashChains();
  /** The chunk of each text, where it begins there, and its length. */
  readonly #places = new IntegerRows(3);
  readonly #chunks: Uint16Array[] = [];
  /** The free characters of the last chunk. */
  #free = 0;

  get size(): number {
    return this.#chains.size;
  }

  /** Its parts that grow. */
  get parts(): readonly Growing[] {
    return [...this.#chains.parts, this.#places];
  }

  /** The bytes of memory. */
  get bytes(): number {
    const characters = this.#chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
    return this.#chains.bytes + this.#places.bytes + characters;
  }

  /** The number of a text, which is added unless it is present. */
  add(text: string): number {
    const hash = hashOfText(text, 0, text.length);
    const present = this.#find(hash, text, 0, text.length);
    if (present !== -1) return present;
    const chunk = this.#chunkFor(text.length);
    const begin = chunk.length - this.#free;
    for (let at = 0; at < text.length; at += 1) chunk[begin + at] = text.charCodeAt(at);
    this.#free -= text.length;
    this.#places.add(this.#chunks.length - 1, begin, text.length);
    return this.#chains.add(hash);
  }

  /** The number of a part of a text; -1: it has not been added. */
  find(text: string, begin = 0, end = text.length): number {
    return this.#find(hashOfText(text, begin, end), text, begin, end);
  }

  /** Releases the room for further texts. */
  *trim(): Steps<void> {
    this.#chains.trim();
    yield;
    this.#places.trim();
    const last = this.#chunks.pop();
    if (last !== undefined) this.#chunks.push(last.slice(0, last.length - this.#free));
    this.#free = 0;
  }

  #find(hash: number, text: string, begin: number, end: number): number {
    for (let member = this.#chains.first(hash); member !== -1; member = this.#chains.next(member))
      if (this.#isEqual(member, text, begin, end)) return member;
    return -1;
  }

  #isEqual(member: number, text: string, begin: number, end: number): boolean {
    const length = end - begin;
    if (this.#places.at(member, 2) !== length) return false;
    const chunk = this.#chunks[this.#places.at(member)] as Uint16Array;
    const from = this.#places.at(member, 1);
    for (let at = 0; at < length; at += 1) if (chunk[from + at] !== text.charCodeAt(begin + at)) return false;
    return true;
  }

  /** The last chunk, with room for so many characters. */
  #chunkFor(length: number): Uint16Array {
    const last = this.#chunks.at(-1);
    if (last !== undefined && length <= this.#free) return last;
    const chunk = new Uint16Array(Math.max(length, Math.min((last?.length ?? 0) * 2, chunkMax), chunkMin));
    this.#chunks.push(chunk);
    this.#free = chunk.length;
    return chunk;
  }
}
