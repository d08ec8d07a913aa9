import type { ByteString } from "./byte-string.ts";

/** With these, a full segment takes seven of a thousand keys that it does not have for ones that it may have. */
const bitsPerKey = 12;
const probeCount = 4;
/** A filter begins with a segment of so many bits; when that is full, it gets one with twice as many. */
const firstBits = 2 ** 20;
/** 22 million keys, in 32 MiB. */
const bitsMaxDefault = 2 ** 28;

/** The bits of some keys. Their number is a power of two. */
interface Segment {
  readonly words: Int32Array;
  readonly mask: number;
  /** Keys for which it has room. */
  left: number;
}

const segmentOf = (bits: number): Segment => ({
  words: new Int32Array(bits / 32),
  mask: bits - 1,
  left: Math.floor(bits / bitsPerKey),
});

/**
 * A set of keys that knows of a key that it does not have it, or that it may have it (a Bloom filter). No key can be
 * taken out again. With more keys than it has memory for it may have any.
 */
export class KeyFilter {
  readonly #bitsMax: number;
  readonly #segments: Segment[] = [segmentOf(firstBits)];
  #isFull = false;

  constructor(bitsMax = bitsMaxDefault) {
    this.#bitsMax = bitsMax;
  }

  add(key: ByteString): void {
    const first = hashOf(key);
    const step = stepOf(first);
    if (this.#mayHave(first, step)) return;
    const segment = this.#segmentWithRoom();
    if (segment === undefined) return;
    segment.left -= 1;
    for (let probe = 0, at = first; probe < probeCount; probe += 1, at = (at + step) | 0) {
      const bit = at & segment.mask;
      segment.words[bit >>> 5] = (segment.words[bit >>> 5] as number) | (1 << (bit & 31));
    }
  }

  /** False: the key was never added. */
  mayHave(key: ByteString): boolean {
    const first = hashOf(key);
    return this.#mayHave(first, stepOf(first));
  }

  #mayHave(first: number, step: number): boolean {
    if (this.#isFull) return true;
    for (const segment of this.#segments) if (hasAll(segment, first, step)) return true;
    return false;
  }

  #segmentWithRoom(): Segment | undefined {
    const last = this.#segments.at(-1);
    if (last === undefined || last.left > 0) return last;
    const bits = 2 * (last.mask + 1);
    // Those before it have as many bits together, less those of the first.
    if (2 * bits - firstBits > this.#bitsMax) {
      this.#isFull = true;
      this.#segments.length = 0;
      return undefined;
    }
    const next = segmentOf(bits);
    this.#segments.push(next);
    return next;
  }
}

const hasAll = ({ words, mask }: Segment, first: number, step: number): boolean => {
  for (let probe = 0, at = first; probe < probeCount; probe += 1, at = (at + step) | 0) {
    const bit = at & mask;
    if (((words[bit >>> 5] as number) & (1 << (bit & 31))) === 0) return false;
  }
  return true;
};

/** FNV-1a, mixed once more, so that the low bits depend on all. */
const hashOf = (key: ByteString): number => {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  return mixed(hash);
};

/** The distance between the bits of a key: odd, so that no two of them are the same. */
const stepOf = (first: number): number => mixed(first ^ 0x9e3779b1) | 1;

/** The final mix of MurmurHash3. */
const mixed = (hash: number): number => {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
};
