/** The base of the store's errors. */
abstract class StoreError extends Error {}

/** Concurrent changes won against this transaction too often. Nothing was written; running it again may succeed. */
export class StoreContentionError extends StoreError {
  override readonly name = "StoreContentionError";
  readonly attempts: number;

  constructor(attempts: number) {
    super(`the transaction lost against concurrent changes ${attempts} times`);
    this.attempts = attempts;
  }
}

/** A stored record is not as it was written. Its key is known, its value is never returned. */
export class StoreCorruptionError extends StoreError {
  override readonly name = "StoreCorruptionError";
  /** The key's bytes as they are in the database. */
  readonly key: Uint8Array;
  readonly #reason: string;

  constructor(key: Uint8Array, reason: string, options?: ErrorOptions) {
    super(`the record at key ${Buffer.from(key).toString("hex")} is damaged: ${reason}`, options);
    this.key = key;
    this.#reason = reason;
  }

  /** The same for the log of a service, whose readers know its tables by their names. */
  inTable(name: string): StoreCorruptionError {
    return new StoreCorruptionError(this.key, `${this.#reason} (table ${name})`, { cause: this.cause });
  }
}

/** More work is waiting than the store holds. Nothing was written; try again later. */
export class StoreOverloadedError extends StoreError {
  override readonly name = "StoreOverloadedError";
}

/** One transaction writes more than the store accepts at once. Split it. */
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
 * accepting transactions after this; reads go on.
 */
export class StoreWriteError extends StoreError {
  override readonly name = "StoreWriteError";

  constructor(cause: unknown) {
    super("the disk refused a write; the store must be opened again", { cause });
  }
}

/** Groups of commits that are missing, by their numbers, the first and the last included. */
export interface LostGroups {
  readonly first: number;
  readonly last: number;
  /** When the group before them was written, in milliseconds since 1970; 0: unknown. */
  readonly afterMs: number;
  /** When the group after them was written, or the last of them. */
  readonly beforeMs: number;
}

/**
 * The files of a database are not as they were written, found before it was opened. Nothing has been changed. When
 * `isSurvivable`, the store can be opened with `acceptLoss`, without the lost commits.
 */
export class StoreDamageError extends StoreError {
  override readonly name = "StoreDamageError";
  readonly lost: readonly LostGroups[];
  /** A line for each damaged file. */
  readonly damages: readonly string[];
  readonly isSurvivable: boolean;

  constructor(directory: string, lost: readonly LostGroups[], damages: readonly string[], isSurvivable: boolean) {
    const remedy = isSurvivable
      ? "restore it from a backup, or start with --accept-loss yes to go on without what is lost"
      : "restore it from a backup";
    super(`the database in ${directory} is damaged: ${[...lost.map(describeLost), ...damages].join("; ")}; ${remedy}`);
    this.lost = lost;
    this.damages = damages;
    this.isSurvivable = isSurvivable;
  }
}

/** A range of lost groups for people: their numbers and when they were committed. */
const describeLost = ({ first, last, afterMs, beforeMs }: LostGroups): string => {
  const numbers = first === last ? `commit ${first} is missing` : `commits ${first} to ${last} are missing`;
  const after = afterMs === 0 ? "" : `after ${new Date(afterMs).toISOString()} and `;
  return `${numbers}, committed ${after}not after ${new Date(beforeMs).toISOString()}`;
};

/**
 * The data in a directory has a form that this program does not read, or is not whole. Nothing was changed. The message
 * says what to do.
 */
export class DataFormatError extends StoreError {
  override readonly name = "DataFormatError";
}

/** The disk has too little room for this change. Nothing was written; reads go on. */
export class StoreFullError extends StoreError {
  override readonly name = "StoreFullError";
}

/** A value cannot be a part of a key: a lone surrogate, a number that is not a safe non-negative integer. */
export class StoreKeyError extends StoreError {
  override readonly name = "StoreKeyError";
}
