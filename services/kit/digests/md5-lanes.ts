import { giveBack, hold } from "../wire/lent-memory.ts";
import type { Digest } from "./digest.ts";
import type { Md5Module } from "./md5-module.ts";
import { dataAt, laneBytes, lanesMax, openMd5Module, stateAt } from "./md5-module.ts";

/** A digest that may be given up. */
export interface OpenDigest extends Digest {
  /** No further call comes. Repeating it, also after `finish`, does nothing. */
  close(): void;
}

const blockBytes = 64;
const initialState = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476] as const;

/** What waits for others in all. A connection is read in bursts of up to 200 KiB, and there are eight lanes. */
const waitingBytesMax = 2 * 1024 * 1024;
/** Lanes with fewer blocks are not worth the others' wait. */
const worthBlocksMin = 16;
/** The most blocks of each lane that are digested at once. */
const laneBlocks = laneBytes / blockBytes;
/** How often that is done for each piece, unless too much waits, so that one piece takes a short time. */
const roundsMax = 4;

/**
 * MD5 digests of contents that arrive at the same time, computed together (see `md5-module.ts`). Bytes wait until there
 * are some of as many contents as there are lanes; those of a content that arrives alone do not. What waits is at most
 * 2 MiB, whatever the number of contents.
 */
export class Md5Lanes {
  readonly #module: Md5Module = openMd5Module();
  readonly #bytes = new Uint8Array(this.#module.memory);
  readonly #words = new Uint32Array(this.#module.memory);
  readonly #waiting = new Set<LanedMd5>();
  #waitingBytes = 0;
  #openCount = 0;

  /** The bytes of all contents that wait. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Opens a digest. It must be finished or closed; its bytes must not be changed before. */
  open(): OpenDigest {
    const digest = new LanedMd5();
    this.#openCount += 1;
    let isOpen = true;
    const add = (bytes: Uint8Array): void => {
      digest.add(bytes);
      this.#waiting.add(digest);
      this.#waitingBytes += bytes.length;
    };
    const close = (): void => {
      if (!isOpen) return;
      isOpen = false;
      this.#openCount -= 1;
      if (this.#waiting.delete(digest)) this.#waitingBytes -= digest.waitingBytes;
      digest.drop();
    };
    return {
      update: (bytes) => {
        add(bytes);
        for (let round = 0; round < roundsMax || this.#waitingBytes > waitingBytesMax; round += 1) {
          const lanes = this.#ahead();
          const last = lanes[Math.min(this.#openCount, lanesMax) - 1];
          const isFull = last !== undefined && last.waitingBlocks >= laneBlocks;
          if (!isFull && this.#waitingBytes <= waitingBytesMax) break;
          if (lanes.length === 0) {
            this.#digestSmall();
            break;
          }
          this.#digest(lanes);
        }
      },
      finish: () => {
        add(digest.padding());
        while (digest.waitingBytes > 0) this.#digest(this.#partnersOf(digest));
        close();
        return digest.value();
      },
      close,
    };
  }

  /** The contents of which most waits, as many as there are lanes. */
  #ahead(): LanedMd5[] {
    const ahead: LanedMd5[] = [];
    // Thousands may wait, and this is asked for each piece of each: they are not sorted.
    for (const digest of this.#waiting) {
      const { waitingBlocks } = digest;
      const last = ahead[lanesMax - 1];
      if (waitingBlocks < worthBlocksMin || (last !== undefined && last.waitingBlocks >= waitingBlocks)) continue;
      const place = ahead.findIndex((each) => each.waitingBlocks < waitingBlocks);
      ahead.splice(place === -1 ? ahead.length : place, 0, digest);
      if (ahead.length > lanesMax) ahead.pop();
    }
    return ahead;
  }

  /** Digests the blocks of all contents when too much waits although none has enough to be worth it. */
  #digestSmall(): void {
    const small = [...this.#waiting].filter(({ waitingBlocks }) => waitingBlocks > 0);
    small.sort((one, other) => other.waitingBlocks - one.waitingBlocks);
    for (let at = 0; at < small.length; at += lanesMax) this.#digest(small.slice(at, at + lanesMax));
  }

  /** A content and those that can be digested with it. */
  #partnersOf(digest: LanedMd5): LanedMd5[] {
    if (digest.waitingBlocks < worthBlocksMin) return [digest];
    const others = this.#ahead().filter((each) => each !== digest);
    return [digest, ...others.slice(0, lanesMax - 1)];
  }

  /** Digests a part of what waits of each of the contents. */
  #digest(lanes: readonly LanedMd5[]): void {
    const blocks = Math.min(laneBlocks, ...lanes.map(({ waitingBlocks }) => waitingBlocks));
    for (const [lane, digest] of lanes.entries()) {
      const { state } = digest;
      const at = dataAt + lane * laneBytes;
      digest.take(this.#bytes.subarray(at, at + blocks * blockBytes));
      for (let word = 0; word < state.length; word += 1) this.#words[wordAt(lane, word)] = state[word]!;
    }
    if (lanes.length === 1) this.#module.one(blocks);
    else if (lanes.length === 2) this.#module.two(blocks);
    else if (lanes.length <= 4) this.#module.four(blocks);
    else this.#module.eight(blocks);
    for (const [lane, digest] of lanes.entries()) {
      const { state } = digest;
      for (let word = 0; word < state.length; word += 1) state[word] = this.#words[wordAt(lane, word)]!;
      if (digest.waitingBytes === 0) this.#waiting.delete(digest);
    }
    this.#waitingBytes -= lanes.length * blocks * blockBytes;
  }
}

const wordAt = (lane: number, word: number): number => (stateAt + (lane >> 2) * 64 + word * 16 + (lane & 3) * 4) / 4;

/** One content: what was computed of it, and its bytes that wait. */
class LanedMd5 {
  readonly state = Uint32Array.from(initialState);
  readonly #pieces: Uint8Array[] = [];
  /** Bytes of the first piece that were taken. */
  #taken = 0;
  #sizeBytes = 0;
  waitingBytes = 0;

  get waitingBlocks(): number {
    return Math.floor(this.waitingBytes / blockBytes);
  }

  add(bytes: Uint8Array): void {
    hold(bytes);
    this.#pieces.push(bytes);
    this.#sizeBytes += bytes.length;
    this.waitingBytes += bytes.length;
  }

  /** Moves the next bytes to where they are digested. */
  take(target: Uint8Array): void {
    let filled = 0;
    while (filled < target.length) {
      const piece = this.#pieces[0]!;
      const part = piece.subarray(this.#taken, this.#taken + target.length - filled);
      target.set(part, filled);
      filled += part.length;
      this.#taken += part.length;
      if (this.#taken < piece.length) continue;
      this.#pieces.shift();
      giveBack(piece);
      this.#taken = 0;
    }
    this.waitingBytes -= target.length;
  }

  /** What waits is not needed. */
  drop(): void {
    for (const piece of this.#pieces.splice(0)) giveBack(piece);
  }

  /** What comes after the content: a bit, zeros up to the end of a block, and its length in bits. */
  padding(): Uint8Array {
    const bytes = Buffer.alloc(blockBytes - ((this.#sizeBytes + 8) % blockBytes) + 8);
    bytes[0] = 0x80;
    bytes.writeBigUInt64LE(BigInt(this.#sizeBytes) * 8n, bytes.length - 8);
    return bytes;
  }

  value(): Uint8Array {
    const digest = Buffer.alloc(16);
    for (const [word, value] of this.state.entries()) digest.writeUInt32LE(value, word * 4);
    return digest;
  }
}

let shared: Md5Lanes | undefined;

/** Opens an MD5 digest of large content, which is computed together with those that are open at the same time. */
export const openLargeMd5 = (): OpenDigest => (shared ??= new Md5Lanes()).open();
