import { isAscii, isUtf8 } from "node:buffer";

import { refusal } from "../refusal.ts";
import type { CsvSettings } from "./csv-settings.ts";
import { columnsMax, recordBytesMax } from "./record-limits.ts";

/** Receives records; false: the next one is to wait. */
export type TakeRecord = (record: CsvRecord) => boolean;

/** The record that was just read; its fields are valid until the next one. */
export interface CsvRecord {
  readonly fieldCount: number;
  /** The text of a field, from 0 on; undefined if the record has fewer. */
  field(index: number): string | undefined;
  /** The whole record as it is in the object; undefined if its fields cannot be written unchanged. */
  verbatim(): string | undefined;
}

const lineFeed = 10;
const carriageReturn = 13;

/** Two characters of four bytes. */
const delimiterBytesMax = 8;

/**
 * Reads records of separated values from pieces of any length. Bytes are looked at once; texts are made only of the
 * fields that are asked for. Empty lines and comments are no records. A carriage return before a line feed belongs to
 * the end of the record. Throws OVER_MAX_RECORD_SIZE, OVER_MAX_COLUMN, CSV_PARSING_ERROR, CSV_UNESCAPED_QUOTE and
 * INVALID_TEXT_ENCODING.
 */
export class CsvReader implements CsvRecord {
  readonly #settings: CsvSettings;
  readonly #take: TakeRecord;
  /** The places of each field: its first byte, the byte after its last, and whether an escape is inside. */
  #starts = new Int32Array(64);
  #ends = new Int32Array(64);
  #hasEscapes = new Uint8Array(64);
  #count = 0;
  /** The bytes that are read, and their text if each is one character. */
  #bytes: Buffer = Buffer.alloc(0);
  #ascii: string | undefined;
  #hasQuotes = false;
  #recordStart = 0;
  #recordEnd = 0;
  #rest: Buffer = Buffer.alloc(0);
  #isPaused = false;

  constructor(settings: CsvSettings, take: TakeRecord) {
    this.#settings = settings;
    this.#take = take;
  }

  get fieldCount(): number {
    return this.#count;
  }

  field(index: number): string | undefined {
    if (index < 0 || index >= this.#count) return undefined;
    const [start, end] = [this.#starts[index] as number, this.#ends[index] as number];
    const text = this.#ascii === undefined ? this.#bytes.toString("utf8", start, end) : this.#ascii.slice(start, end);
    return this.#hasEscapes[index] === 1 ? this.#unescaped(text) : text;
  }

  verbatim(): string | undefined {
    if (this.#hasQuotes) return undefined;
    const [start, end] = [this.#recordStart, this.#recordEnd];
    return this.#ascii === undefined ? this.#bytes.toString("utf8", start, end) : this.#ascii.slice(start, end);
  }

  /** Reads the records that end in a piece; false: it paused, and goes on with the next piece, which may be empty. */
  push(piece: Buffer): boolean {
    return this.#read(this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]), false);
  }

  /** Reads the last record, which needs no end; false: it paused, and has to be called again. */
  end(): boolean {
    return this.#read(this.#rest, true);
  }

  #read(bytes: Buffer, isEnd: boolean): boolean {
    const { quote } = this.#settings;
    this.#bytes = bytes;
    this.#ascii = isAscii(bytes) ? bytes.toString("latin1") : undefined;
    this.#hasQuotes = quote !== undefined && bytes.includes(quote);
    this.#isPaused = false;
    let at = 0;
    while (!this.#isPaused && at < bytes.length) {
      const next = this.#readRecord(at, isEnd);
      if (next === -1) break;
      if (next - at > recordBytesMax) throw refusal("OVER_MAX_RECORD_SIZE");
      this.#checkEncoding(at, next);
      at = next;
      if (this.#count > 0 && !this.#take(this)) this.#isPaused = true;
    }
    this.#rest = bytes.subarray(at);
    if (!this.#isPaused && this.#rest.length > recordBytesMax) throw refusal("OVER_MAX_RECORD_SIZE");
    return !this.#isPaused;
  }

  /** Reads the record at a place; returns the place after it, or -1 if it does not end in the bytes. */
  #readRecord(from: number, isEnd: boolean): number {
    const { comment, quote, fieldDelimiter, recordDelimiter } = this.#settings;
    const bytes = this.#bytes;
    const { length } = bytes;
    const [fieldEnd, recordEnd] = [fieldDelimiter[0], recordDelimiter[0]];
    const isShort = fieldDelimiter.length === 1 && recordDelimiter.length === 1;
    this.#count = 0;
    this.#recordStart = from;
    if (bytes[from] === comment && comment !== undefined) {
      const end = bytes.indexOf(recordDelimiter, from);
      return end !== -1 ? end + recordDelimiter.length : isEnd ? length : -1;
    }
    let start = from;
    let at = from;
    for (;;) {
      if (at < length && bytes[at] === quote && quote !== undefined) {
        at = this.#readQuoted(at, isEnd);
        if (at === -1) return -1;
        if (at === length) return isEnd ? this.#endRecord(length, length) : -1;
        if (isAt(bytes, at, fieldDelimiter)) start = at += fieldDelimiter.length;
        else return this.#endOfRecordAt(at) ? this.#endRecord(at, this.#afterRecord(at)) : -1;
        continue;
      }
      while (at < length) {
        const byte = bytes[at];
        if (byte === fieldEnd && (isShort || isAt(bytes, at, fieldDelimiter))) break;
        if (byte === recordEnd && (isShort || isAt(bytes, at, recordDelimiter))) break;
        at += 1;
      }
      if (at >= length) {
        if (!isEnd) return -1;
        this.#addField(start, this.#withoutReturn(start, length), 0);
        return this.#endRecord(length, length);
      }
      if (bytes[at] === recordEnd && isAt(bytes, at, recordDelimiter)) {
        const end = this.#withoutReturn(start, at);
        if (this.#count > 0 || end > start) this.#addField(start, end, 0);
        return this.#endRecord(end, at + recordDelimiter.length);
      }
      this.#addField(start, at, 0);
      start = at += fieldDelimiter.length;
    }
  }

  #endRecord(end: number, next: number): number {
    this.#recordEnd = end;
    return next;
  }

  /** Reads a quoted field; returns the place after its last quote, or -1 if the bytes end before it is known. */
  #readQuoted(from: number, isEnd: boolean): number {
    const { quote, escape, recordDelimiter, allowsQuotedRecordDelimiter } = this.#settings;
    const bytes = this.#bytes;
    const { length } = bytes;
    let hasEscapes: 0 | 1 = 0;
    for (let at = from + 1; at < length; at++) {
      const byte = bytes[at];
      if (byte === escape && escape !== quote) {
        hasEscapes = 1;
        at += 1;
      } else if (byte === quote) {
        if (at + 1 === length && !isEnd) return -1;
        if (escape !== quote || bytes[at + 1] !== quote) {
          this.#addField(from + 1, at, hasEscapes);
          return this.#checkedEnd(at + 1, isEnd);
        }
        hasEscapes = 1;
        at += 1;
      } else if (byte === recordDelimiter[0] && !allowsQuotedRecordDelimiter && isAt(bytes, at, recordDelimiter))
        throw refusal("CSV_PARSING_ERROR", "a quoted field has no end in its record");
    }
    if (isEnd) throw refusal("CSV_PARSING_ERROR", "a quoted field has no end");
    return -1;
  }

  /** The place after a quoted field, where a delimiter must be. */
  #checkedEnd(at: number, isEnd: boolean): number {
    const bytes = this.#bytes;
    if (isAt(bytes, at, this.#settings.fieldDelimiter)) return at;
    // A delimiter of several bytes may be cut in the middle.
    if (!isEnd && bytes.length - at < delimiterBytesMax) return -1;
    if (at === bytes.length || this.#endOfRecordAt(at)) return at;
    throw refusal("CSV_UNESCAPED_QUOTE");
  }

  #endOfRecordAt(at: number): boolean {
    const { recordDelimiter } = this.#settings;
    if (isAt(this.#bytes, at, recordDelimiter)) return true;
    const follower = this.#bytes[at + 1];
    const isEnd = follower === lineFeed || follower === undefined;
    return this.#isLineFeed() && this.#bytes[at] === carriageReturn && isEnd;
  }

  #afterRecord(at: number): number {
    const { recordDelimiter } = this.#settings;
    return isAt(this.#bytes, at, recordDelimiter) ? at + recordDelimiter.length : at + 2;
  }

  #isLineFeed(): boolean {
    return this.#settings.recordDelimiter.length === 1 && this.#settings.recordDelimiter[0] === lineFeed;
  }

  #withoutReturn(start: number, end: number): number {
    return end > start && this.#bytes[end - 1] === carriageReturn && this.#isLineFeed() ? end - 1 : end;
  }

  #addField(start: number, end: number, hasEscapes: 0 | 1): void {
    if (this.#count === this.#starts.length) this.#grow();
    this.#starts[this.#count] = start;
    this.#ends[this.#count] = end;
    this.#hasEscapes[this.#count] = hasEscapes;
    this.#count += 1;
  }

  #grow(): void {
    if (this.#count === columnsMax) throw refusal("OVER_MAX_COLUMN");
    const [starts, ends, hasEscapes] = [this.#starts, this.#ends, this.#hasEscapes];
    (this.#starts = new Int32Array(2 * this.#count)).set(starts);
    (this.#ends = new Int32Array(2 * this.#count)).set(ends);
    (this.#hasEscapes = new Uint8Array(2 * this.#count)).set(hasEscapes);
  }

  #unescaped(text: string): string {
    const { quote, escape } = this.#settings;
    const mark = String.fromCharCode(quote as number);
    if (escape === quote) return text.replaceAll(mark + mark, mark);
    const parts = text.split(String.fromCharCode(escape as number));
    // An empty part in between is an escaped escape.
    let result = parts[0] as string;
    for (let index = 1; index < parts.length; index++) {
      if (parts[index] === "" && index + 1 < parts.length)
        result += String.fromCharCode(escape as number) + parts[++index];
      else result += parts[index];
    }
    return result;
  }

  #checkEncoding(from: number, to: number): void {
    if (this.#ascii === undefined && !isUtf8(this.#bytes.subarray(from, to))) throw refusal("INVALID_TEXT_ENCODING");
  }
}

const isAt = (bytes: Buffer, at: number, delimiter: Buffer): boolean => {
  for (let index = 0; index < delimiter.length; index++) if (bytes[at + index] !== delimiter[index]) return false;
  return true;
};
