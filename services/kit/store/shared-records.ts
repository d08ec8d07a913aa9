import type { Message } from "@bufbuild/protobuf";
import { LRUCache } from "lru-cache";

import type { ByteString } from "./byte-string.ts";
import type { RawWrites } from "./engine.ts";

/** Kept for a key without a record, so that what most owners do not have is not looked for again either. */
export const absent = Symbol("absent");

const recordsMax = 1_000;
const payloadBytesMax = 4 * 1024 * 1024;

/**
 * Decoded records that readers share, each until it changes. A view belongs to the epoch in which it began to read, and
 * uses what is kept only while that epoch lasts: a record that is kept then is the same in every view of the epoch.
 * While a group is being written, a view may or may not see it; so the records that it changes are not kept then.
 */
export class SharedRecords {
  readonly #records = new LRUCache<ByteString, Message | typeof absent>({ max: recordsMax, maxSize: payloadBytesMax });
  #writing: RawWrites | undefined;
  #epoch = 0;

  /** Changes with each group that was written. */
  get epoch(): number {
    return this.#epoch;
  }

  /** What is kept of the key; undefined: nothing. */
  find(key: ByteString, epoch: number): Message | typeof absent | undefined {
    return epoch === this.#epoch ? this.#records.get(key) : undefined;
  }

  /** Keeps what a view of the epoch has read. */
  keep(key: ByteString, epoch: number, record: Message | typeof absent, payloadBytes: number): void {
    if (epoch !== this.#epoch || this.#writing?.has(key) === true) return;
    this.#records.set(key, record, { size: key.length + payloadBytes });
  }

  /** A group begins to be written. */
  beginWrite(writes: RawWrites): void {
    this.#writing = writes;
    if (this.#records.size < writes.size) {
      for (const key of this.#records.keys()) if (writes.has(key)) this.#records.delete(key);
    } else for (const key of writes.keys()) this.#records.delete(key);
  }

  /** The group was written, or failed. */
  endWrite(): void {
    this.#writing = undefined;
    this.#epoch += 1;
  }
}

/** Makes a message and all messages, lists and maps in it unchangeable; bytes cannot be made so. */
export const frozen = <V extends Message>(message: V): V => {
  freeze(message);
  return message;
};

const freeze = (value: unknown): void => {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return;
  for (const member of Object.values(value)) freeze(member);
  Object.freeze(value);
};
