import { isUtf8 } from "node:buffer";

import { limits } from "../../../limits.ts";
import type { RecordReader, SourceRecord } from "./source-record.ts";
import { carriageReturn, lineFeed, ObjectUnreadable, refuseLongRecord } from "./source-record.ts";

const [comma, quote] = [44, 34];

/** Where the scan is in a field: before it, in plain text, between quotes, or after a quote there. */
type Place = "before" | "plain" | "quoted" | "after-quote";

/**
 * Reads separated values as RFC 4180 writes them: commas, double quotes, which are doubled within, and ends of lines
 * that may be between quotes. The first record has the names of the fields. Empty lines are no records. A field without
 * text and quotes has no value.
 */
export class CsvRecords implements RecordReader {
  #names: readonly string[] | undefined;
  #bytes: Buffer = Buffer.alloc(0);
  /** The bytes of the object before those that are held. */
  #offset: number;
  #at = 0;
  #place: Place = "before";

  /** To go on after a record: the names, and where it ended. */
  constructor(names?: readonly string[], offset = 0) {
    this.#names = names;
    this.#offset = offset;
  }

  /** The names of the fields; undefined until they are read. */
  get names(): readonly string[] | undefined {
    return this.#names;
  }

  *push(piece: Buffer): Iterable<SourceRecord> {
    this.#bytes = this.#bytes.length === 0 ? piece : Buffer.concat([this.#bytes, piece]);
    let start = 0;
    for (let end = this.#findEnd(); end !== -1; end = this.#findEnd()) {
      const record = this.#read(start, end);
      start = end;
      if (record !== undefined) yield record;
    }
    this.#drop(start);
    refuseLongRecord(this.#bytes.length, limits.flowRecordBytesMax);
  }

  *end(): Iterable<SourceRecord> {
    if (this.#place === "quoted") throw new ObjectUnreadable("a quoted field has no end");
    const record = this.#read(0, this.#bytes.length);
    this.#drop(this.#bytes.length);
    if (record !== undefined) yield record;
  }

  #drop(count: number): void {
    this.#bytes = this.#bytes.subarray(count);
    this.#offset += count;
    this.#at -= count;
  }

  /** The place after the next end of a record; -1: it is not among the bytes. */
  #findEnd(): number {
    const bytes = this.#bytes;
    let place = this.#place;
    let at = this.#at;
    for (; at < bytes.length; at++) {
      const byte = bytes[at];
      if (place === "quoted") {
        if (byte === quote) place = "after-quote";
      } else if (byte === quote && place !== "plain") place = "quoted";
      else if (byte === comma) place = "before";
      else if (byte === lineFeed) break;
      else place = "plain";
    }
    const isFound = at < bytes.length;
    this.#place = isFound ? "before" : place;
    this.#at = isFound ? at + 1 : at;
    return isFound ? at + 1 : -1;
  }

  #read(start: number, next: number): SourceRecord | undefined {
    let end = next;
    if (end > start && this.#bytes[end - 1] === lineFeed) end -= 1;
    if (end > start && this.#bytes[end - 1] === carriageReturn) end -= 1;
    if (end === start) return undefined;
    refuseLongRecord(end - start, limits.flowRecordBytesMax);
    const line = this.#bytes.subarray(start, end);
    const endBytes = this.#offset + next;
    if (this.#names === undefined) {
      this.#names = namesIn(line);
      return undefined;
    }
    const text = line.toString("utf8");
    const fields = isUtf8(line) ? fieldsOf(text, this.#names.length) : "it is not UTF-8";
    if (typeof fields === "string") return { record: undefined, problem: fields, text, endBytes };
    const record = new Map(fields.map((field, index) => [this.#names?.[index] ?? "", field] as const));
    return { record, problem: "", text, endBytes };
  }
}

/** The names in the first record, before which a mark of the encoding may be. */
const namesIn = (line: Buffer): readonly string[] => {
  if (!isUtf8(line)) throw new ObjectUnreadable("its first line is not UTF-8");
  const fields = fieldsOf(line.toString("utf8").replace(/^\ufeff/, ""), limits.flowFieldsMax);
  if (typeof fields === "string") throw new ObjectUnreadable(`its first line: ${fields}`);
  const names = fields.map((name) => (name ?? "").trim());
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw new ObjectUnreadable(`its first line has a name twice: ${name.slice(0, 60)}`);
    seen.add(name);
  }
  return names;
};

/** The fields of a record; a text: why they cannot be read. */
const fieldsOf = (text: string, countMax: number): readonly (string | null)[] | string => {
  const fields: (string | null)[] = [];
  for (let at = 0; ;) {
    if (fields.length === countMax) return `it has more than ${countMax} fields`;
    let end: number;
    if (text[at] === '"') {
      end = endOfQuoted(text, at);
      if (end === -1) return "a quote between quotes is not doubled, or a quoted field has no end";
      fields.push(text.slice(at + 1, end - 1).replaceAll('""', '"'));
    } else {
      const found = text.indexOf(",", at);
      end = found === -1 ? text.length : found;
      fields.push(end === at ? null : text.slice(at, end));
    }
    if (end === text.length) return fields;
    at = end + 1;
  }
};

/** The place after the last quote of a field, where a comma or the end must be; -1: it is not. */
const endOfQuoted = (text: string, start: number): number => {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 2))
    if (text[at + 1] !== '"') return at + 1 === text.length || text[at + 1] === "," ? at + 1 : -1;
  return -1;
};
