import { querySettings } from "../../../services/object-storage/select/scan-job.ts";

/** A field of a structure in thrift's compact protocol: an integer of 32 or 64 bits, bytes, a list or a structure. */
export type ThriftValue = number | bigint | string | Buffer | ThriftStruct | readonly ThriftValue[];
export interface ThriftStruct {
  readonly [field: number]: ThriftValue;
}

export const varint = (value: number): Buffer => {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
};

const encoded = (value: ThriftValue): { readonly type: number; readonly bytes: Buffer } => {
  if (typeof value === "number") return { type: 5, bytes: varint(value < 0 ? -2 * value - 1 : 2 * value) };
  if (typeof value === "bigint")
    return { type: 6, bytes: varint(value < 0n ? -2 * Number(value) - 1 : 2 * Number(value)) };
  if (typeof value === "string" || Buffer.isBuffer(value)) {
    const bytes = Buffer.from(value as string);
    return { type: 8, bytes: Buffer.concat([varint(bytes.length), bytes]) };
  }
  if (Array.isArray(value)) {
    const items = (value as readonly ThriftValue[]).map(encoded);
    const head = Buffer.concat([Buffer.from([0xf0 | (items[0]?.type ?? 12)]), varint(items.length)]);
    return { type: 9, bytes: Buffer.concat([head, ...items.map(({ bytes }) => bytes)]) };
  }
  return { type: 12, bytes: thriftStruct(value) };
};

export const thriftStruct = (fields: ThriftStruct): Buffer => {
  const parts: Buffer[] = [];
  for (const [field, value] of Object.entries(fields)) {
    const { type, bytes } = encoded(value as ThriftValue);
    parts.push(Buffer.from([type]), varint(2 * Number(field)), bytes);
  }
  return Buffer.concat([...parts, Buffer.of(0)]);
};

/** Numbers of physical types, encodings and codecs. */
export const parquet = {
  int32: 1,
  int64: 2,
  byteArray: 6,
  plain: 0,
  delta: 5,
  rleDictionary: 8,
  snappy: 1,
  zstd: 6,
} as const;

/** A page of a column: its header, and the bytes after it. */
export const page = (header: ThriftStruct, content: Buffer): Buffer => Buffer.concat([thriftStruct(header), content]);

/** A page of values, of which the content may be of another size than it declares. */
export const dataPage = (
  values: number,
  encoding: number,
  content: Buffer,
  uncompressedBytes = content.length,
): Buffer =>
  page({ 1: 0, 2: uncompressedBytes, 3: content.length, 5: { 1: values, 2: encoding, 3: 3, 4: 3 } }, content);

interface ColumnFile {
  readonly type: number;
  readonly codec?: number;
  /** 0: required, 1: optional. Unset: 0. */
  readonly repetition?: number;
  readonly rows: number;
  readonly pages: readonly Buffer[];
  /** What the column's description says of its uncompressed size. Unset: 1000. */
  readonly declaredBytes?: number;
}

/** A file of one row group with one column `a`. */
export const columnFile = ({
  type,
  codec = 0,
  repetition = 0,
  rows,
  pages,
  declaredBytes = 1000,
}: ColumnFile): Buffer => {
  const content = Buffer.concat(pages);
  const described = {
    1: type,
    2: [0],
    3: ["a"],
    4: codec,
    5: BigInt(rows),
    6: BigInt(declaredBytes),
    7: BigInt(content.length),
    9: 4n,
  };
  const footer = thriftStruct({
    1: 1,
    2: [
      { 4: "schema", 5: 1 },
      { 1: type, 3: repetition, 4: "a" },
    ],
    3: BigInt(rows),
    4: [{ 1: [{ 2: 4n, 3: described }], 2: BigInt(declaredBytes), 3: BigInt(rows) }],
  });
  return footerFile(footer, content);
};

/** A file with these bytes as its footer. */
export const footerFile = (footer: Buffer, content = Buffer.alloc(0)): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footer.length);
  return Buffer.concat([Buffer.from("PAR1"), content, footer, length, Buffer.from("PAR1")]);
};

/** The query of a whole Parquet file, with CSV as its result. */
export const parquetJob = (expression: string, file: Uint8Array) => ({
  ...querySettings({
    expression,
    expressionType: "SQL",
    inputSerialization: { parquet: {} },
    outputSerialization: { csv: {} },
  }),
  span: undefined,
  sizeBytes: file.length,
  nowMs: 0,
});
