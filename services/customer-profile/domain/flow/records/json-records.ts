import { isUtf8 } from "node:buffer";

import { hasMoreJsonValues } from "../../../../kit/json/json-values.ts";
import { limits } from "../../../limits.ts";
import { recordOfJson } from "../field-value.ts";
import type { RecordReader, SourceRecord } from "./source-record.ts";
import { isSpace, lineFeed, ObjectUnreadable, refuseLongRecord } from "./source-record.ts";

const [comma, quote, backslash] = [44, 34, 92];
const [openBracket, closeBracket, openBrace, closeBrace] = [91, 93, 123, 125];

/** The record of a part of an object. */
const recordIn = (part: Buffer, endBytes: number): SourceRecord => {
  refuseLongRecord(part.length, limits.flowRecordBytesMax);
  const text = part.toString("utf8");
  // Most of what is no object does not begin as one, and costs no failed parsing.
  const isObject = part[0] === openBrace && isUtf8(part);
  // A megabyte of empty lists is parsed in a third of a second.
  if (isObject && hasMoreJsonValues(part, limits.flowRecordValuesMax))
    return { record: undefined, problem: `it has more than ${limits.flowRecordValuesMax} values`, text, endBytes };
  const record = isObject ? recordOfJson(text) : undefined;
  return { record, problem: record === undefined ? "it is no JSON object in UTF-8" : "", text, endBytes };
};

/** Reads JSON objects of which each is a line. Empty lines are no records. */
export class JsonLines implements RecordReader {
  #bytes: Buffer = Buffer.alloc(0);
  #offset: number;

  /** To go on after a record: where it ended. */
  constructor(offset = 0) {
    this.#offset = offset;
  }

  *push(piece: Buffer): Iterable<SourceRecord> {
    const held = this.#bytes.length;
    this.#bytes = held === 0 ? piece : Buffer.concat([this.#bytes, piece]);
    let start = 0;
    for (let end = this.#bytes.indexOf(lineFeed, held); end !== -1; end = this.#bytes.indexOf(lineFeed, start)) {
      yield* this.#read(start, end + 1);
      start = end + 1;
    }
    this.#bytes = this.#bytes.subarray(start);
    this.#offset += start;
    refuseLongRecord(this.#bytes.length, limits.flowRecordBytesMax);
  }

  *end(): Iterable<SourceRecord> {
    yield* this.#read(0, this.#bytes.length);
  }

  *#read(start: number, end: number): Iterable<SourceRecord> {
    const line = trimmed(this.#bytes.subarray(start, end));
    if (line.length > 0) yield recordIn(line, this.#offset + end);
  }
}

const trimmed = (bytes: Buffer): Buffer => {
  let [start, end] = [0, bytes.length];
  while (start < end && isSpace(bytes[start])) start += 1;
  while (end > start && isSpace(bytes[end - 1])) end -= 1;
  return bytes.subarray(start, end);
};

/** Reads the items of one JSON array. Only strings and brackets are followed until an item has ended. */
export class JsonArray implements RecordReader {
  #bytes: Buffer = Buffer.alloc(0);
  #offset: number;
  #at = 0;
  /** Where the item begins that is being read; -1: none is. */
  #start = -1;
  /** Brackets that are open, with that of the array itself. */
  #depth: number;
  #isInString = false;
  #isEscaped = false;
  #hasEnded = false;

  /** To go on after an item: where it ended. */
  constructor(offset = 0) {
    this.#offset = offset;
    this.#depth = offset === 0 ? 0 : 1;
  }

  *push(piece: Buffer): Iterable<SourceRecord> {
    this.#bytes = this.#bytes.length === 0 ? piece : Buffer.concat([this.#bytes, piece]);
    for (; this.#at < this.#bytes.length; this.#at += 1) {
      const end = this.#step(this.#bytes[this.#at] as number);
      if (end === -1) continue;
      yield recordIn(this.#bytes.subarray(this.#start, end), this.#offset + end);
      this.#start = -1;
    }
    const kept = this.#start === -1 ? this.#at : this.#start;
    this.#bytes = this.#bytes.subarray(kept);
    this.#offset += kept;
    this.#at -= kept;
    if (this.#start !== -1) this.#start = 0;
    refuseLongRecord(this.#bytes.length, limits.flowRecordBytesMax);
  }

  *end(): Iterable<SourceRecord> {
    if (!this.#hasEnded) throw new ObjectUnreadable("its JSON array has no end");
    yield* [];
  }

  /** The place after an item that ends with this byte or before it; -1: none does. */
  #step(byte: number): number {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === backslash) this.#isEscaped = true;
      else if (byte === quote) this.#isInString = false;
      return -1;
    }
    if (this.#depth === 0) return this.#outside(byte);
    const isSeparator = byte === comma || byte === closeBracket || isSpace(byte);
    if (this.#depth === 1 && isSeparator) {
      if (byte === closeBracket) [this.#depth, this.#hasEnded] = [0, true];
      return this.#start === -1 ? -1 : this.#at;
    }
    if (this.#start === -1) this.#start = this.#at;
    if (byte === quote) this.#isInString = true;
    else if (byte === openBracket || byte === openBrace) this.#depth += 1;
    else if (byte === closeBracket || byte === closeBrace) {
      this.#depth -= 1;
      if (this.#depth === 0) throw new ObjectUnreadable("a bracket of its JSON array closes what is not open");
      if (this.#depth === 1) return this.#at + 1;
    }
    return -1;
  }

  #outside(byte: number): number {
    if (!isSpace(byte)) {
      if (byte !== openBracket || this.#hasEnded) throw new ObjectUnreadable("something follows its JSON array");
      this.#depth = 1;
    }
    return -1;
  }
}
