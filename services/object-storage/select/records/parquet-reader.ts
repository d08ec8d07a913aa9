import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";

import type { AsyncBuffer, ColumnData, Compressors, FileMetaData, RowGroup, SchemaTree } from "hyparquet";
import { parquetMetadataAsync, parquetRead, parquetSchema } from "hyparquet";

import { ServiceError } from "../../../kit/faults/service-error.ts";
import type { ByteSpan } from "../input/record-range.ts";
import { refusal, shown } from "../refusal.ts";
import type { Value } from "../values/value.ts";
import { isIntegerColumn, parquetParsers, parquetValue } from "./parquet-values.ts";

/** Bytes of the columns of a row group, and of what is read at once. */
const groupBytesMax = 256 * 1024 * 1024;
/** Bytes that a page becomes when it is decompressed. */
const pageBytesMax = 64 * 1024 * 1024;
const rowsOfGroupMax = 16 * 1024 * 1024;

/** An object of which any part can be read. */
export interface ReadableObject {
  readonly sizeBytes: number;
  read(start: number, end: number): Promise<Uint8Array>;
}

/** What is read of a Parquet file. */
export interface ParquetSelection {
  /** Whether the values of a column are needed. */
  needsColumn(name: string): boolean;
  /** Only row groups that begin in it are read. Undefined: all. */
  readonly span: ByteSpan | undefined;
}

/**
 * The records of a Parquet file, row group by row group; of each only the columns that are needed are read. Throws
 * PARQUET_PARSING_ERROR and OVER_MAX_PARQUET_BLOCK_SIZE.
 */
export async function* parquetRecords(object: ReadableObject, selection: ParquetSelection): AsyncGenerator<Value> {
  const file = asyncBuffer(object);
  const metadata = await asRefusals(() => parquetMetadataAsync(file, { parsers: parquetParsers, geoparquet: false }));
  const columns = await asRefusals(() => neededColumns(metadata, selection));
  let firstRow = 0;
  for (const group of metadata.row_groups) {
    const rows = Number(group.num_rows);
    if (selection.span === undefined || beginsIn(group, selection.span))
      yield* groupRecords(file, metadata, columns, { first: firstRow, rows, group });
    firstRow += rows;
  }
}

interface NeededColumn {
  readonly name: string;
  readonly isInteger: boolean;
}

interface GroupRows {
  readonly first: number;
  readonly rows: number;
  readonly group: RowGroup;
}

const neededColumns = (metadata: FileMetaData, { needsColumn }: ParquetSelection): NeededColumn[] =>
  parquetSchema(metadata)
    .children.filter(({ element }) => needsColumn(element.name))
    .map((column) => ({ name: column.element.name, isInteger: isIntegerColumn(leafOf(column).element) }));

/** The only leaf of a column, as of a list; the column itself if it has several. */
const leafOf = (column: SchemaTree): SchemaTree => {
  const [only, ...more] = column.children;
  return only === undefined || more.length > 0 ? column : leafOf(only);
};

async function* groupRecords(
  file: AsyncBuffer,
  metadata: FileMetaData,
  columns: readonly NeededColumn[],
  { first, rows, group }: GroupRows,
): AsyncGenerator<Value> {
  if (columns.length === 0) {
    for (let row = 0; row < rows; row++) yield new Map();
    return;
  }
  checkSize(group, columns, rows);
  const pieces = new Map<string, ColumnData[]>(columns.map(({ name }) => [name, []]));
  await asRefusals(() =>
    parquetRead({
      file,
      metadata,
      columns: columns.map(({ name }) => name),
      rowStart: first,
      rowEnd: first + rows,
      compressors,
      parsers: parquetParsers,
      geoparquet: false,
      onChunk: (piece) => pieces.get(piece.columnName)?.push(piece),
    }),
  );
  const cursors = columns.map(({ name, isInteger }) => ({
    name,
    read: columnCursor(pieces.get(name) ?? [], isInteger),
  }));
  for (let row = first; row < first + rows; row++) yield new Map(cursors.map(({ name, read }) => [name, read(row)]));
}

/** Reads a column at rows that increase. */
const columnCursor = (pieces: readonly ColumnData[], isInteger: boolean): ((row: number) => Value) => {
  let index = 0;
  return (row) => {
    while (index + 1 < pieces.length && row >= (pieces[index]?.rowEnd ?? 0)) index += 1;
    const piece = pieces[index];
    return parquetValue(piece?.columnData[row - piece.rowStart], isInteger);
  };
};

const checkSize = (group: RowGroup, columns: readonly NeededColumn[], rows: number): void => {
  const names = new Set(columns.map(({ name }) => name));
  let bytes = 0;
  for (const { meta_data: described } of group.columns) {
    if (described === undefined || !names.has(described.path_in_schema[0] ?? "")) continue;
    bytes += Math.max(Number(described.total_uncompressed_size), Number(described.total_compressed_size));
  }
  if (bytes > groupBytesMax || rows > rowsOfGroupMax) throw refusal("OVER_MAX_PARQUET_BLOCK_SIZE");
};

const beginsIn = (group: RowGroup, { start, end }: ByteSpan): boolean => {
  const described = group.columns[0]?.meta_data;
  const offset = Number(described?.dictionary_page_offset ?? described?.data_page_offset ?? 0);
  return offset >= start && offset <= end;
};

const asyncBuffer = ({ sizeBytes, read }: ReadableObject): AsyncBuffer => ({
  byteLength: sizeBytes,
  slice: async (start, end = sizeBytes) => {
    if (!(start >= 0 && end <= sizeBytes && start <= end)) throw new RangeError("a part lies outside of the file");
    if (end - start > groupBytesMax) throw refusal("OVER_MAX_PARQUET_BLOCK_SIZE");
    const bytes = await read(start, end);
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  },
});

const bounded = (length: number): { maxOutputLength: number } => {
  if (length > pageBytesMax) throw refusal("OVER_MAX_PARQUET_BLOCK_SIZE");
  return { maxOutputLength: Math.max(1, length) };
};

/** Snappy is the library's own; other codecs but these are refused by it. */
const compressors: Compressors = {
  GZIP: (input, length) => gunzipSync(input, bounded(length)),
  BROTLI: (input, length) => brotliDecompressSync(input, bounded(length)),
  ZSTD: (input, length) => zstdDecompressSync(input, bounded(length)),
};

/** The library reports what is malformed by errors of any kind. */
const asRefusals = async <T>(read: () => T | Promise<T>): Promise<T> => {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw refusal("PARQUET_PARSING_ERROR", shown(error instanceof Error ? error.message : "it is malformed"));
  }
};
