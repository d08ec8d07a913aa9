import type { FlowRecord } from "../field-value.ts";

/** A record as it is in an object of a bucket. */
export interface SourceRecord {
  /** Undefined: it is none, for `problem`. */
  readonly record: FlowRecord | undefined;
  readonly problem: string;
  readonly text: string;
  /** The bytes of the object, decompressed, up to its end. */
  readonly endBytes: number;
}

/** Why an object cannot be read any further, as a message for whoever put it. */
export class ObjectUnreadable extends Error {}

/** Finds the records of an object in pieces of any length. Its methods throw ObjectUnreadable. */
export interface RecordReader {
  /** The records that end in a piece. */
  push(piece: Buffer): Iterable<SourceRecord>;
  /** The last record, which needs no end. */
  end(): Iterable<SourceRecord>;
}

export const lineFeed = 10;
export const carriageReturn = 13;

/** Whether a byte is one of those that JSON has between its values. */
export const isSpace = (byte: number | undefined): boolean =>
  byte === 32 || byte === lineFeed || byte === carriageReturn || byte === 9;

/** Throws ObjectUnreadable. */
export const refuseLongRecord = (bytes: number, bytesMax: number): void => {
  if (bytes > bytesMax) throw new ObjectUnreadable(`a record has more than ${bytesMax} bytes`);
};
