import type { Bounds, ByteString } from "./byte-string.ts";
import { byteStringOf, compareBytes, successor } from "./byte-string.ts";
import type { RawEntry, RawWrites, View } from "./engine.ts";
import { StoreCorruptionError } from "./errors.ts";
import { frozen } from "./shared-records.ts";

/** One intended change: `payload` undefined deletes. */
export interface RawWrite {
  readonly key: ByteString;
  readonly payload: Uint8Array | undefined;
}

/** Changes that are not in the database yet, by key; the last one for a key holds. */
export class WriteSet {
  readonly #writes = new Map<ByteString, Uint8Array | undefined>();
  /** Begun by the first search for a range. */
  #runs: KeyRuns | undefined;
  #bytes = 0;

  get writes(): RawWrites {
    return this.#writes;
  }

  get size(): number {
    return this.#writes.size;
  }

  /** Bytes of all keys and payloads that were ever set, an upper bound of what will be written. */
  get bytes(): number {
    return this.#bytes;
  }

  set(key: ByteString, payload: Uint8Array | undefined): void {
    if (!this.#writes.has(key)) this.#runs?.add(key);
    this.#writes.set(key, payload);
    this.#bytes += key.length + (payload?.byteLength ?? 0);
  }

  setAll(others: WriteSet): void {
    for (const [key, payload] of others.#writes) this.set(key, payload);
  }

  clear(): void {
    this.#writes.clear();
    this.#runs = undefined;
    this.#bytes = 0;
  }

  has(key: ByteString): boolean {
    return this.#writes.has(key);
  }

  get(key: ByteString): Uint8Array | undefined {
    return this.#writes.get(key);
  }

  /** Whether a key between the bounds is changed. */
  hasWithin(bounds: Bounds): boolean {
    this.#runs ??= new KeyRuns(this.#writes.keys());
    return this.#runs.hasWithin(bounds);
  }

  /** The changes between the bounds, as they are now, in ascending order. */
  within(bounds: Bounds): RawWrite[] {
    this.#runs ??= new KeyRuns(this.#writes.keys());
    return this.#runs.within(bounds).map((key) => ({ key, payload: this.#writes.get(key) }));
  }
}

/** The index of the first key that is not below `key`. */
const lowerBound = (keys: readonly ByteString[], key: ByteString): number => {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as ByteString) < key) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** Whether one of the keys, which are in ascending order, lies between the bounds. */
export const hasKeyWithin = (keys: readonly ByteString[], { low, high }: Bounds): boolean => {
  const first = keys[lowerBound(keys, low)];
  return first !== undefined && first < high;
};

/**
 * Keys in a few sorted runs, each at least twice as long as the next. A set that grows between searches, as that of a
 * group does with each transaction and that of a transaction that lists, is then not sorted again for each of them.
 */
class KeyRuns {
  readonly #runs: ByteString[][] = [];
  #loose: ByteString[];

  constructor(keys: Iterable<ByteString>) {
    this.#loose = [...keys];
  }

  add(key: ByteString): void {
    this.#loose.push(key);
  }

  hasWithin(bounds: Bounds): boolean {
    if (this.#loose.length > 0) this.#settle();
    return this.#runs.some((run) => hasKeyWithin(run, bounds));
  }

  /** In ascending order. */
  within({ low, high }: Bounds): readonly ByteString[] {
    if (this.#loose.length > 0) this.#settle();
    const found = this.#runs
      .map((run) => run.slice(lowerBound(run, low), lowerBound(run, high)))
      .filter((keys) => keys.length > 0);
    return found.length < 2 ? (found[0] ?? []) : found.flat().toSorted(compareBytes);
  }

  #settle(): void {
    let run = this.#loose.toSorted(compareBytes);
    this.#loose = [];
    for (let last = this.#runs.at(-1); last !== undefined && last.length < 2 * run.length; last = this.#runs.at(-1)) {
      // Two sorted runs are found as such and merged in linear time.
      run = [...last, ...run].toSorted(compareBytes);
      this.#runs.pop();
    }
    this.#runs.push(run);
  }
}

/**
 * A view with changes laid over it. A scan shows the changes that were there when it began. Payloads are copies, so
 * that a reader who changes the bytes of a message does not change what will be written.
 */
export const overlay = (changes: WriteSet, base: View): View => ({
  get: (key) => (changes.has(key) ? changes.get(key)?.slice() : base.get(key)),
  getShared: (key, decode) => {
    if (!changes.has(key)) return base.getShared(key, decode);
    const payload = changes.get(key);
    return payload === undefined ? undefined : frozen(decode(payload.slice()));
  },
  scan: (bounds, reverse, expected) => mergedScan(changes, base, bounds, reverse, expected),
});

async function* mergedScan(
  changes: WriteSet,
  base: View,
  bounds: Bounds,
  reverse: boolean,
  expected: number,
): AsyncGenerator<readonly RawEntry[], void> {
  const own = changes.within(bounds);
  if (reverse) own.reverse();
  const isBefore = (left: ByteString, right: ByteString): boolean => (reverse ? left > right : left < right);
  let next = 0;
  const scan =
    own.length === 0 ? base.scan(bounds, reverse, expected) : pagesBelow(own, base, bounds, reverse, expected);
  for await (const page of scan) {
    const merged: RawEntry[] = [];
    for (const entry of page) {
      while (next < own.length && isBefore((own[next] as RawWrite).key, entry.key)) append(merged, own[next++]);
      if (own[next]?.key === entry.key) append(merged, own[next++]);
      else merged.push(entry);
    }
    yield merged;
  }
  const rest: RawEntry[] = [];
  while (next < own.length) append(rest, own[next++]);
  yield rest;
}

/** The pages of a view without damaged records that the changes replace or delete; one that they leave is thrown. */
async function* pagesBelow(
  changes: readonly RawWrite[],
  base: View,
  bounds: Bounds,
  reverse: boolean,
  expected: number,
): AsyncGenerator<readonly RawEntry[], void> {
  let rest = bounds;
  for (;;) {
    let damaged: ByteString;
    try {
      for await (const page of base.scan(rest, reverse, expected)) {
        const last = page.at(-1);
        if (last !== undefined) rest = pastKey(rest, reverse, last.key);
        yield page;
      }
      return;
    } catch (error) {
      if (!(error instanceof StoreCorruptionError)) throw error;
      damaged = byteStringOf(error.key);
      if (!changes.some(({ key }) => key === damaged)) throw error;
    }
    // A page with a damaged record is not returned at all.
    yield* base.scan(reverse ? { ...rest, low: successor(damaged) } : { ...rest, high: damaged }, reverse, expected);
    rest = pastKey(rest, reverse, damaged);
  }
}

/** What is left of a range when a key was read. */
const pastKey = (bounds: Bounds, reverse: boolean, key: ByteString): Bounds =>
  reverse ? { ...bounds, high: key } : { ...bounds, low: successor(key) };

const append = (page: RawEntry[], write: RawWrite | undefined): void => {
  if (write?.payload !== undefined) page.push({ key: write.key, payload: write.payload.slice() });
};
