import { refusal } from "../refusal.ts";

/** The integers and structures of a structure, by the numbers of their fields. All else is only checked. */
export type ThriftFields = ReadonlyMap<number, number | ThriftFields>;

/** How deep structures and lists nest in each other. */
const depthMax = 32;

const malformed = (what: string) => refusal("PARQUET_PARSING_ERROR", what);

/**
 * Reads structures in thrift's compact protocol, as Parquet describes itself, without believing any size that is
 * declared: a list has no more items than bytes follow. Throws PARQUET_PARSING_ERROR.
 */
export class CompactThriftReader {
  /** The place after what was read. */
  at = 0;
  readonly #view: DataView;
  #valuesLeft: number;

  /** `valuesMax`: how many fields and items there may be in all structures. */
  constructor(view: DataView, valuesMax: number) {
    this.#view = view;
    this.#valuesLeft = valuesMax;
  }

  struct(depth = 0): ThriftFields {
    const fields = new Map<number, number | ThriftFields>();
    if (depth > depthMax) throw malformed("it is nested too deeply");
    let field = 0;
    for (;;) {
      const head = this.#byte();
      const type = head & 15;
      if (type === 0) return fields;
      const delta = head >> 4;
      field = delta === 0 ? this.#integer(5) : field + delta;
      const value = this.#value(type, depth);
      if (value !== undefined) fields.set(field, value);
    }
  }

  #value(type: number, depth: number): number | ThriftFields | undefined {
    this.#valuesLeft -= 1;
    if (this.#valuesLeft < 0) throw malformed("its description has too many values");
    switch (type) {
      case 1:
      case 2:
        return undefined;
      case 3:
        this.#skip(1);
        return undefined;
      case 4:
      case 5:
        return this.#integer(5);
      case 6:
        return this.#integer(10);
      case 7:
        this.#skip(8);
        return undefined;
      case 8:
        this.#skip(this.#varint(5));
        return undefined;
      case 9:
        this.#list(depth + 1);
        return undefined;
      case 12:
        return this.struct(depth + 1);
      default:
        throw malformed(`a value has the type ${type}`);
    }
  }

  #list(depth: number): void {
    if (depth > depthMax) throw malformed("it is nested too deeply");
    const head = this.#byte();
    const type = head & 15;
    const size = head >> 4 === 15 ? this.#varint(5) : head >> 4;
    if (size > this.#view.byteLength - this.at) throw malformed("a list ends after the end");
    // Each Boolean of a list is a byte.
    const itemType = type === 1 || type === 2 ? 3 : type;
    for (let left = size; left > 0; left--) this.#value(itemType, depth);
  }

  #byte(): number {
    if (this.at >= this.#view.byteLength) throw malformed("a structure has no end");
    return this.#view.getUint8(this.at++);
  }

  #skip(bytes: number): void {
    this.at += bytes;
    if (this.at > this.#view.byteLength) throw malformed("a value ends after the end");
  }

  /** An integer with its sign in the lowest bit. */
  #integer(bytesMax: number): number {
    const value = this.#varint(bytesMax);
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  #varint(bytesMax: number): number {
    let value = 0;
    for (let index = 0; index < bytesMax; index++) {
      const byte = this.#byte();
      value += (byte & 127) * 2 ** (7 * index);
      if (byte < 128) break;
      if (index + 1 === bytesMax) throw malformed("an integer is too long");
    }
    if (bytesMax === 5 && value > 0xffffffff) throw malformed("an integer is too long");
    return value;
  }
}
