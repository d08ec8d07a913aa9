import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";

import type { ByteString } from "./byte-string.ts";
import { bytesOf } from "./byte-string.ts";
import { StoreKeyError } from "./errors.ts";
import type { KeyPart } from "./key-codec.ts";
import { decodePart, encodePart, encodeTextPrefix } from "./key-codec.ts";

export { bytes, integer, reversed, text } from "./key-codec.ts";

/** The typed parts of a key, in their order. */
export type KeyTuple = readonly unknown[];

/** The first parts of a key: none, some or all of them. */
export type KeyPrefix<K extends KeyTuple> = K extends readonly [...infer Front, unknown] ? K | KeyPrefix<Front> : K;

/**
 * One kind of record. All keys of a table begin with its number (two bytes, big-endian), so the tables of a database
 * lie one after the other in the order of their numbers.
 */
export interface Table<out K extends KeyTuple = KeyTuple, V extends Message = Message> {
  /** 1 to 65534; never used again for anything else. */
  readonly number: number;
  readonly name: string;
  readonly parts: readonly KeyPart[];
  readonly schema: GenMessage<V>;
  /** Never set: carries the key's type. */
  readonly key?: K;
}

type KeyOf<P extends readonly KeyPart[]> = { readonly [I in keyof P]: P[I] extends KeyPart<infer T> ? T : never };

/** How a table is declared. */
export interface TableDeclaration<P extends readonly KeyPart[], S extends DescMessage> {
  readonly number: number;
  readonly name: string;
  readonly key: P;
  readonly value: S;
}

/** Declares a table. The declaration is the only place that knows the number, the order of the parts and the record. */
export const defineTable = <const P extends readonly KeyPart[], S extends DescMessage>(
  declaration: TableDeclaration<P, S>,
): Table<KeyOf<P>, MessageShape<S>> => {
  const { number, name, key, value } = declaration;
  if (!Number.isInteger(number) || number < 1 || number > 0xfffe)
    throw new RangeError(`table ${name}: a table's number is from 1 to 65534, not ${number}`);
  return { number, name, parts: key, schema: value as unknown as GenMessage<MessageShape<S>> };
};

/** Throws when two of the tables share a number or a name: the check of one database's layout. */
export const assertDistinct = (tables: readonly Table[]): void => {
  const seen = new Map<number | string, Table>();
  for (const table of tables)
    for (const identity of [table.number, table.name]) {
      const other = seen.get(identity);
      if (other !== undefined) throw new Error(`tables ${other.name} and ${table.name} share ${identity}`);
      seen.set(identity, table);
    }
};

/** The bytes of a whole key. Throws StoreKeyError when a part is missing or no value for its kind. */
export const encodeKey = <K extends KeyTuple>(table: Table<K>, key: NoInfer<K>): ByteString => {
  if (key.length !== table.parts.length)
    throw new StoreKeyError(`a key of ${table.name} has ${table.parts.length} parts, not ${key.length}`);
  return encodeKeyPrefix(table, key);
};

/**
 * The bytes that all keys with these first parts begin with. With `textPrefix`, the last part is only the beginning of
 * a text.
 */
export const encodeKeyPrefix = (table: Table, prefix: KeyTuple, textPrefix = false): ByteString => {
  if (prefix.length > table.parts.length)
    throw new StoreKeyError(`a key of ${table.name} has ${table.parts.length} parts, not ${prefix.length}`);
  let encoded = String.fromCharCode(table.number >>> 8, table.number & 0xff);
  for (let index = 0; index < prefix.length; index += 1) {
    const part = table.parts[index] as KeyPart;
    const isOpen = textPrefix && index === prefix.length - 1;
    encoded += isOpen ? encodeTextPrefix(part, prefix[index]) : encodePart(part, prefix[index]);
  }
  return encoded;
};

/** The parts of a whole key. Throws StoreKeyError when the bytes are not one. */
export const decodeKey = <K extends KeyTuple>(table: Table<K>, encoded: ByteString): K => {
  const key: unknown[] = [];
  let offset = 2;
  for (const part of table.parts) {
    const { value, next } = decodePart(part, encoded, offset);
    key.push(value);
    offset = next;
  }
  if (offset !== encoded.length) throw new StoreKeyError(`a key of ${table.name} is longer than its parts`);
  return key as unknown as K;
};

/** As `decodeKey`; undefined: no key of the table is written as these bytes. */
export const findKey = <K extends KeyTuple>(table: Table<K>, encoded: ByteString): K | undefined => {
  try {
    const key = decodeKey(table, encoded);
    return encodeKey(table, key) === encoded ? key : undefined;
  } catch (error) {
    if (!(error instanceof StoreKeyError)) throw error;
    return undefined;
  }
};

/** The literal bytes of a key, for layout tests. */
export const keyBytes = <K extends KeyTuple>(table: Table<K>, key: NoInfer<K>): Uint8Array =>
  new Uint8Array(bytesOf(encodeKey(table, key)));

/** A key as people write it: `versions/"photos"/"cat.jpg"/7`; bytes are hexadecimal. */
export const pretty = <K extends KeyTuple>(table: Table<K>, key: NoInfer<K>): string =>
  [table.name, ...key.map((part) => prettyPart(part))].join("/");

const prettyPart = (part: unknown): string =>
  part instanceof Uint8Array ? `0x${Buffer.from(part).toString("hex")}` : JSON.stringify(part);
