/** What every error of the store is. */
export abstract class StoreError extends Error {}

/** Concurrent changes won against this transaction too often. Nothing was written; running it again may succeed. */
export class StoreContentionError extends StoreError {
  override readonly name = "StoreContentionError";
  readonly attempts: number;

  constructor(attempts: number) {
    super(`the transaction lost against concurrent changes ${attempts} times`);
    this.attempts = attempts;
  }
}

/** A stored record is not what was written. Its key is known, its value is never given out. */
export class StoreCorruptionError extends StoreError {
  override readonly name = "StoreCorruptionError";
  /** The key's bytes as they are in the database. */
  readonly key: Uint8Array;

  constructor(key: Uint8Array, reason: string, options?: ErrorOptions) {
    super(`the record at key ${Buffer.from(key).toString("hex")} is damaged: ${reason}`, options);
    this.key = key;
  }
}

/** More work is waiting than the store holds. Nothing was written; try again later. */
export class StoreOverloadedError extends StoreError {
  override readonly name = "StoreOverloadedError";
}

/** One transaction writes more than the store takes at once. Split it. */
export class StoreTransactionTooLargeError extends StoreError {
  override readonly name = "StoreTransactionTooLargeError";

  constructor(limitBytes: number) {
    super(`one transaction may write ${limitBytes} bytes`);
  }
}

/** The store is closing or closed, or this transaction has ended. */
export class StoreClosedError extends StoreError {
  override readonly name = "StoreClosedError";
}

/**
 * The disk refused a write, so whether it is stored is unknown until the store is opened again. The store stops
 * taking transactions after this; reads go on.
 */
export class StoreWriteError extends StoreError {
  override readonly name = "StoreWriteError";

  constructor(cause: unknown) {
    super("the disk refused a write; the store must be opened again", { cause });
  }
}

/** A value cannot be a part of a key: a lone surrogate, a number that is no safe non-negative integer. */
export class StoreKeyError extends StoreError {
  override readonly name = "StoreKeyError";
}
