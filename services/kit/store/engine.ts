import type { Bounds, ByteString } from "./byte-string.ts";

/** One stored record: its key and its payload. */
export interface RawEntry {
  readonly key: ByteString;
  readonly payload: Uint8Array;
}

/** Something with records in it that do not change while it is looked at. */
export interface View {
  get(key: ByteString): Uint8Array | undefined;
  /**
   * The records between the bounds in key order, in pages, each read when it is asked for. `expected` is how many the
   * reader is likely to take. A page may be empty.
   */
  scan(bounds: Bounds, reverse: boolean, expected: number): AsyncGenerator<readonly RawEntry[], void>;
}

/** The database as it was at one instant. */
export interface Snapshot extends View {
  /** Ends all scans. Reading afterwards throws. */
  close(): Promise<void>;
}

/** What is written: a payload, or undefined for a deletion. */
export type RawWrites = ReadonlyMap<ByteString, Uint8Array | undefined>;

/** What the store needs from an ordered key-value database. */
export interface Engine {
  snapshot(): Snapshot;
  /** Writes all or nothing; durable when it resolves. Never called again before it has settled. */
  write(writes: RawWrites): Promise<void>;
  /**
   * Makes what was deleted under a prefix unrecoverable from the disk, as far as nobody looked at it when this was
   * called. `isWholeKey`: the prefix is one key.
   */
  erase(prefix: ByteString, isWholeKey: boolean): Promise<void>;
  close(): Promise<void>;
}
