import { randomInt } from "node:crypto";

import type { Growing } from "./integer-rows.ts";
import { IntegerRows } from "./integer-rows.ts";

/** Differs in each process, so that nobody can choose texts of which many have one hash. */
const seed = randomInt(2 ** 32) | 0;

const mixed = (hash: number): number => {
  let value = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return value ^ (value >>> 16);
};

/** The hash of a part of a text. */
export const hashOfText = (text: string, begin: number, end: number): number => {
  let hash = seed ^ (end - begin);
  for (let at = begin; at < end; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x5bd1e995);
    hash ^= hash >>> 15;
  }
  return mixed(hash);
};

/** The hash of two integers. */
export const hashOfPair = (first: number, second: number): number =>
  mixed(Math.imul(first ^ seed, 0x9e3779b1) ^ Math.imul(mixed(second), 0x27d4eb2f));

/**
 * The chains of a hash table whose members are numbered in the order of their addition. Whoever uses it compares the
 * members of a chain.
 */
export class HashChains implements Growing {
  #heads = new Int32Array(4).fill(-1);
  /** The next member of the chain, and the hash, of each member. */
  readonly #members = new IntegerRows(2);

  get size(): number {
    return this.#members.length;
  }

  /** Its parts that grow. */
  get parts(): readonly Growing[] {
    return [this, this.#members];
  }

  /** The bytes of memory. */
  get bytes(): number {
    return this.#heads.byteLength + this.#members.bytes;
  }

  /** The last added member with a hash; -1: there is no such member. */
  first(hash: number): number {
    return this.#skip(this.#heads[hash & (this.#heads.length - 1)] as number, hash);
  }

  /** The next member with the same hash; -1: there is no further one. */
  next(member: number): number {
    return this.#skip(this.#members.at(member), this.#members.at(member, 1));
  }

  /** Adds a member and returns its number. */
  add(hash: number): number {
    if (this.size === this.#heads.length) this.#grow();
    const bucket = hash & (this.#heads.length - 1);
    const member = this.#members.add(this.#heads[bucket] as number, hash);
    this.#heads[bucket] = member;
    return member;
  }

  makeRoom(): boolean {
    if (this.size + (this.size >>> 3) <= this.#heads.length) return false;
    this.#grow();
    return true;
  }

  /** Releases the room for further members. */
  trim(): void {
    this.#members.trim();
  }

  #skip(from: number, hash: number): number {
    let member = from;
    while (member !== -1 && this.#members.at(member, 1) !== hash) member = this.#members.at(member);
    return member;
  }

  #grow(): void {
    const heads = new Int32Array(this.#heads.length * 2).fill(-1);
    const mask = heads.length - 1;
    for (let member = 0; member < this.size; member += 1) {
      const bucket = this.#members.at(member, 1) & mask;
      this.#members.set(member, 0, heads[bucket] as number);
      heads[bucket] = member;
    }
    this.#heads = heads;
  }
}
