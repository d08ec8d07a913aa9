import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";

import type { AsyncBuffer, ColumnData, Compressors, FileMetaData, RowGroup, SchemaTree } from "hyparquet";
import { parquetMetadata, parquetRead, parquetSchema, snappyUncompress } from "hyparquet";

import { ServiceError } from "../../../kit/faults/service-error.ts";
import type { ByteSpan } from "../input/record-range.ts";
import { refusal, shown } from "../refusal.ts";
import type { ScannedObject } from "../scanned-object.ts";
import type { Value } from "../values/value.ts";
import { checkFooter, footerStart, groupBytesMax, PageBudget, pageBytesMax, rowsOfGroupMax } from "./parquet-bounds.ts";
import { isIntegerColumn, parquetParsers, parquetValue } from "./parquet-values.ts";

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
export async function* parquetRecords(object: ScannedObject, selection: ParquetSelection): AsyncGenerator<Value> {
  const file = asyncBuffer(object);
  const metadata = await asRefusals(() => metadataOf(file));
  const columns = await asRefusals(() => neededColumns(metadata, selection));
  let firstRow = 0;
  for (const group of metadata.row_groups) {
    const rows = Number(group.num_rows);
    if (selection.span === undefined || beginsIn(group, selection.span))
      yield* groupRecords(file, metadata, columns, { first: firstRow, rows, group });
    firstRow += rows;
  }
}

const metadataOf = async (file: AsyncBuffer): Promise<FileMetaData> => {
  const end = file.byteLength;
  const start = footerStart(new DataView(await file.slice(Math.max(0, end - 8), end)), end);
  const footer = await file.slice(start, end);
  checkFooter(new DataView(footer, 0, footer.byteLength - 8));
  return parquetMetadata(footer, { parsers: parquetParsers, geoparquet: false });
};

interface NeededColumn {
  readonly name: string;
  readonly isInteger: boolean;
  /** Whether each row has one value. */
  readonly isFlat: boolean;
}

interface GroupRows {
  readonly first: number;
  readonly rows: number;
  readonly group: RowGroup;
}

const neededColumns = (metadata: FileMetaData, { needsColumn }: ParquetSelection): NeededColumn[] =>
  parquetSchema(metadata)
    .children.filter(({ element }) => needsColumn(element.name))
    .map((column) => ({
      name: column.element.name,
      isInteger: isIntegerColumn(leafOf(column).element),
      isFlat: column.children.length === 0 && column.element.repetition_type !== "REPEATED",
    }));

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
  if (!(rows >= 0 && rows <= rowsOfGroupMax)) throw refusal("OVER_MAX_PARQUET_BLOCK_SIZE");
  if (columns.length === 0) {
    for (let row = 0; row < rows; row++) yield new Map();
    return;
  }
  const chunks = chunksOf(group, columns, rows);
  const pieces = new Map<string, ColumnData[]>(columns.map(({ name }) => [name, []]));
  await asRefusals(() =>
    parquetRead({
      file: checkedFile(file, chunks),
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

/** Where a column of a row group is, and of how many values it is read; undefined: of all. */
interface Chunk {
  readonly start: number;
  readonly end: number;
  readonly values: number | undefined;
}

/** Throws OVER_MAX_PARQUET_BLOCK_SIZE for what is described as too large. */
const chunksOf = (group: RowGroup, columns: readonly NeededColumn[], rows: number): Chunk[] => {
  const needed = new Map(columns.map((column) => [column.name, column]));
  const chunks: Chunk[] = [];
  let bytes = 0;
  for (const { meta_data: described } of group.columns) {
    const column = needed.get(described?.path_in_schema[0] ?? "");
    if (described === undefined || column === undefined) continue;
    const compressed = Number(described.total_compressed_size);
    bytes += Math.max(Number(described.total_uncompressed_size), compressed);
    const start = Number(described.dictionary_page_offset || described.data_page_offset);
    if (!(compressed >= 0)) throw refusal("PARQUET_PARSING_ERROR", "a column has no size");
    chunks.push({ start, end: start + compressed, values: column.isFlat ? rows : undefined });
  }
  if (bytes > groupBytesMax) throw refusal("OVER_MAX_PARQUET_BLOCK_SIZE");
  return chunks;
};

/** The file, of which no column is read whose pages declare too much. */
const checkedFile = (file: AsyncBuffer, chunks: readonly Chunk[]): AsyncBuffer => {
  const budget = new PageBudget();
  const unchecked = new Set(chunks);
  return {
    byteLength: file.byteLength,
    slice: async (start, end = file.byteLength) => {
      const bytes = await file.slice(start, end);
      for (const chunk of unchecked) {
        if (chunk.start < start || chunk.end > end) continue;
        unchecked.delete(chunk);
        budget.checkColumn(new DataView(bytes, chunk.start - start, chunk.end - chunk.start), chunk.values);
      }
      return bytes;
    },
  };
};

const beginsIn = (group: RowGroup, { start, end }: ByteSpan): boolean => {
  const described = group.columns[0]?.meta_data;
  const offset = Number(described?.dictionary_page_offset ?? described?.data_page_offset ?? 0);
  return offset >= start && offset <= end;
};

/** Parts are read one after the other, into the memory in which the library reads them. */
const asyncBuffer = ({ sizeBytes, pieces }: ScannedObject): AsyncBuffer => {
  const read = async (start: number, end: number): Promise<ArrayBuffer> => {
    const bytes = new Uint8Array(end - start);
    let length = 0;
    for await (const piece of pieces(start, end)) {
      bytes.set(piece, length);
      length += piece.length;
    }
    if (length < bytes.length) throw new RangeError("a part ends before its end");
    return bytes.buffer;
  };
  let before: Promise<unknown> = Promise.resolve();
  return {
    byteLength: sizeBytes,
    slice: (start, end = sizeBytes) => {
      if (!(start >= 0 && end <= sizeBytes && start <= end)) throw new RangeError("a part lies outside of the file");
      if (end - start > groupBytesMax) throw refusal("OVER_MAX_PARQUET_BLOCK_SIZE");
      const part = before.then(() => read(start, end));
      before = part.catch(() => {});
      return part;
    },
  };
};

const bounded = (length: number): { maxOutputLength: number } => {
  if (length > pageBytesMax) throw refusal("OVER_MAX_PARQUET_BLOCK_SIZE");
  return { maxOutputLength: Math.max(1, length) };
};

/** Other codecs but these are refused by the library. */
const compressors: Compressors = {
  SNAPPY: (input, length) => {
    bounded(length);
    const output = new Uint8Array(length);
    snappyUncompress(input, output);
    return output;
  },
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
    // The process has no more memory than it may have.
    if (error instanceof RangeError && error.message.endsWith("allocation failed"))
      throw refusal("OVER_MAX_PARQUET_BLOCK_SIZE");
    throw refusal("PARQUET_PARSING_ERROR", shown(error instanceof Error ? error.message : "it is malformed"));
  }
};
