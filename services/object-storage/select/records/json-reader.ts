import { isUtf8 } from "node:buffer";

import { refusal } from "../refusal.ts";
import type { PathStep } from "../sql/syntax.ts";
import { parseJsonValue } from "../values/json-value.ts";
import type { Value } from "../values/value.ts";
import { recordBytesMax } from "./record-limits.ts";

/** Receives the value of a record; false: the next one is to wait. */
export type TakeValue = (value: Value) => boolean;

/** Objects and arrays around a record. */
const depthMax = 500;

/** An object or array that has begun. */
interface Container {
  readonly isObject: boolean;
  /** How many steps of the path lead here; -1: it is not on the path. */
  readonly level: number;
  /** The index of the item of an array. */
  index: number;
  /** The level of the item, or of the member that follows the name. */
  childLevel: number;
  expectsName: boolean;
  /** Whether the path leads on to a member or item. */
  isFollowed: boolean;
}

const [quote, comma, colon, backslash] = [34, 44, 58, 92];
const [openBracket, closeBracket, openBrace, closeBrace] = [91, 93, 123, 125];

/**
 * Finds the values at a path in JSON documents that follow each other, in pieces of any length. Only a value that is a
 * record is held and parsed; of all else only strings and brackets are followed, so that a document may have any size.
 * Where the path leads to nothing from a value on it, one record is missing there: a name or index that it has not, and
 * a wildcard that nothing meets, yield one too. Throws JSON_PARSING_ERROR, OVER_MAX_RECORD_SIZE and
 * INVALID_TEXT_ENCODING.
 */
export class JsonReader {
  readonly #path: readonly PathStep[];
  readonly #take: TakeValue;
  readonly #containers: Container[] = [];
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #isPaused = false;
  /** Where the record begins that is being read, and the containers around it; -1: no record is being read. */
  #recordStart = -1;
  #recordDepth = 0;
  #isInString = false;
  #isEscaped = false;
  /** Where the name of a member begins that decides whether it is on the path; -1: none is being read. */
  #nameStart = -1;
  /** Whether a number or word is being read. */
  #isInScalar = false;

  /** The path leads from one document to its records. */
  constructor(path: readonly PathStep[], take: TakeValue) {
    this.#path = path;
    this.#take = take;
  }

  /** Reads the values that end in a piece; false: it paused, and goes on with the next piece, which may be empty. */
  push(piece: Buffer): boolean {
    const starts = [this.#at, this.#recordStart, this.#nameStart].filter((start) => start !== -1);
    const keptFrom = Math.min(...starts);
    if (this.#at - keptFrom > recordBytesMax) throw refusal("OVER_MAX_RECORD_SIZE");
    const rest = this.#bytes.subarray(keptFrom);
    this.#bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    this.#at -= keptFrom;
    if (this.#recordStart !== -1) this.#recordStart -= keptFrom;
    if (this.#nameStart !== -1) this.#nameStart -= keptFrom;
    this.#isPaused = false;
    this.#scan();
    return !this.#isPaused;
  }

  /** Reads the last value, which needs no end if it is a number or a word. */
  end(): void {
    this.#endScalar();
    if (this.#containers.length > 0 || this.#isInString)
      throw refusal("JSON_PARSING_ERROR", "the last value has no end");
  }

  #scan(): void {
    const bytes = this.#bytes;
    while (!this.#isPaused && this.#at < bytes.length) {
      if (this.#isInString) {
        this.#scanString();
        continue;
      }
      const byte = bytes[this.#at] as number;
      const isSpace = byte === 32 || byte === 10 || byte === 13 || byte === 9;
      if (isSpace || byte === comma || byte === colon || byte === closeBrace || byte === closeBracket) {
        this.#endScalar();
        if (byte === comma) this.#nextItem();
        if (byte === closeBrace || byte === closeBracket) this.#close(byte === closeBrace);
      } else if (byte === quote) this.#beginString();
      else if (byte === openBrace || byte === openBracket) this.#open(byte === openBrace);
      else if (!this.#isInScalar) {
        this.#beginValue(false);
        this.#isInScalar = true;
      }
      this.#at += 1;
    }
  }

  /** Moves to the end of a string, or of the bytes. */
  #scanString(): void {
    const bytes = this.#bytes;
    let at = this.#at + (this.#isEscaped ? 1 : 0);
    this.#isEscaped = false;
    for (; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === backslash) at += 1;
      else if (byte === quote) break;
    }
    this.#isEscaped = at > bytes.length;
    this.#at = Math.min(at, bytes.length);
    if (at >= bytes.length) return;
    this.#at += 1;
    this.#isInString = false;
    if (this.#nameStart !== -1) this.#endName();
    else if (this.#recordStart !== -1) this.#endRecordIfHere();
  }

  /** A string is the name of a member, or a value. */
  #beginString(): void {
    this.#endScalar();
    this.#isInString = true;
    const container = this.#containers.at(-1);
    if (container?.isObject !== true || !container.expectsName) return this.#beginValue(false);
    container.expectsName = false;
    if (this.#recordStart === -1 && container.level !== -1) this.#nameStart = this.#at;
  }

  #endName(): void {
    const container = this.#containers.at(-1) as Container;
    const name = parseJsonValue(this.#text(this.#nameStart, this.#at)) as string;
    this.#nameStart = -1;
    container.childLevel = this.#leads(container.level, { name }) ? container.level + 1 : -1;
  }

  /** Whether the step after a level leads to a member or item. */
  #leads(level: number, child: { readonly name: string } | { readonly index: number }): boolean {
    const step = this.#path[level];
    if (level === -1 || step === undefined) return false;
    if (step.kind === "all") return "index" in child;
    if (step.kind === "index") return "index" in child && child.index === step.index;
    if (!("name" in child)) return false;
    if (step.kind === "members") return true;
    return step.isQuoted ? child.name === step.name : child.name.toLowerCase() === step.name.toLowerCase();
  }

  /** A value begins here: it is a record, or on the path to records, or neither. */
  #beginValue(isContainer: boolean): void {
    if (this.#recordStart !== -1) return;
    const container = this.#containers.at(-1);
    const level = container === undefined ? 0 : container.childLevel;
    if (level === -1) return;
    if (container !== undefined) container.isFollowed = true;
    if (level === this.#path.length) {
      this.#recordStart = this.#at;
      this.#recordDepth = this.#containers.length;
    } else if (!isContainer) this.#takeMissing();
  }

  #open(isObject: boolean): void {
    this.#endScalar();
    this.#beginValue(true);
    if (this.#containers.length === depthMax) throw refusal("JSON_PARSING_ERROR", "it is nested too deeply");
    const parent = this.#containers.at(-1);
    const isOutside = this.#recordStart === -1;
    const level = isOutside ? (parent === undefined ? 0 : parent.childLevel) : -1;
    const childLevel = !isObject && this.#leads(level, { index: 0 }) ? level + 1 : -1;
    this.#containers.push({ isObject, level, index: 0, childLevel, expectsName: isObject, isFollowed: false });
  }

  #close(isObject: boolean): void {
    const container = this.#containers.pop();
    if (container?.isObject !== isObject) throw refusal("JSON_PARSING_ERROR", "a bracket closes what is not open");
    if (this.#recordStart === -1) {
      if (container.level !== -1 && !container.isFollowed) this.#takeMissing();
    } else {
      this.#at += 1;
      this.#endRecordIfHere();
      this.#at -= 1;
    }
  }

  #takeMissing(): void {
    if (!this.#take(undefined)) this.#isPaused = true;
  }

  #nextItem(): void {
    const container = this.#containers.at(-1);
    if (container === undefined) throw refusal("JSON_PARSING_ERROR", "a comma is outside of all values");
    container.expectsName = container.isObject;
    container.index += 1;
    const { isObject, level, index } = container;
    container.childLevel = !isObject && this.#leads(level, { index }) ? level + 1 : -1;
  }

  #endScalar(): void {
    if (!this.#isInScalar) return;
    this.#isInScalar = false;
    this.#endRecordIfHere();
  }

  /** Takes the record if the value that has just ended is the whole of it. */
  #endRecordIfHere(): void {
    if (this.#recordStart === -1 || this.#containers.length !== this.#recordDepth) return;
    if (this.#at - this.#recordStart > recordBytesMax) throw refusal("OVER_MAX_RECORD_SIZE");
    const text = this.#text(this.#recordStart, this.#at);
    this.#recordStart = -1;
    if (!this.#take(parseJsonValue(text))) this.#isPaused = true;
  }

  #text(from: number, to: number): string {
    const bytes = this.#bytes.subarray(from, to);
    if (!isUtf8(bytes)) throw refusal("INVALID_TEXT_ENCODING");
    return bytes.toString("utf8");
  }
}
