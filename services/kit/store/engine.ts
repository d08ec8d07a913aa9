import type { Message } from "@bufbuild/protobuf";

import type { Bounds, ByteString } from "./byte-string.ts";

/** One stored record: its key and its payload. */
export interface RawEntry {
  readonly key: ByteString;
  readonly payload: Uint8Array;
}

/** Records that do not change while they are read. */
interface Records {
  get(key: ByteString): Uint8Array | undefined;
  /**
   * The records between the bounds in key order, in pages, each read on demand. `expected` is how many the reader is
   * likely to need. A page may be empty.
   */
  scan(bounds: Bounds, reverse: boolean, expected: number): AsyncGenerator<readonly RawEntry[], void>;
}

/** Records with the changes that are laid over them, which their readers may share. */
export interface View extends Records {
  /** The record as the function decodes it, decoded once for all readers until it changes. */
  getShared(key: ByteString, decode: (payload: Uint8Array) => Message): Message | undefined;
}

/** The database as it was at one instant. */
export interface Snapshot extends Records {
  /** Whether a key is known to have no record, without looking for it. Unset: it is of none. */
  isAbsent?(key: ByteString): boolean;
  /** Ends all scans. Reading afterwards throws. Undefined: it has ended already. */
  close(): Promise<void> | undefined;
}

/** The changes of a write by key: a payload, or undefined for a deletion. */
export type RawWrites = ReadonlyMap<ByteString, Uint8Array | undefined>;

/** An ordered key-value database under the store. */
export interface Engine {
  snapshot(): Snapshot;
  /** Writes all or nothing; durable when it resolves. Never called again before it has settled. */
  write(writes: RawWrites): Promise<void>;
  /**
   * Makes deleted records under a prefix unrecoverable from the disk. Waits for the snapshots that are open.
   * `isWholeKey`: the prefix is one key.
   */
  erase(prefix: ByteString, isWholeKey: boolean): Promise<void>;
  /** Gives back the disk space of what was deleted between the bounds, where there may be much. Unset: all is. */
  reclaim?(bounds: Bounds): Promise<void>;
  /** Moves to a table what it gathers in memory and in its log, where that is much. Unset: it gathers nothing. */
  flush?(): Promise<void>;
  /**
   * Reads all keys of a table, which begin with the prefix, so that looking for absent ones costs little when it
   * resolves. Unset: that costs little anyway.
   */
  knowKeys?(prefix: ByteString): Promise<void>;
  close(): Promise<void>;
}
