import { refusal } from "../refusal.ts";
import { CompactThriftReader } from "./compact-thrift.ts";

/** Bytes of the columns of a row group, compressed and decompressed, and of what is read at once. */
export const groupBytesMax = 256 * 1024 * 1024;
/** Bytes that a page becomes when it is decompressed. */
export const pageBytesMax = 64 * 1024 * 1024;
export const rowsOfGroupMax = 16 * 1024 * 1024;

/** Bytes of the description of a file at its end. */
const footerBytesMax = 64 * 1024 * 1024;
/** Fields and items of the description of a file, of which each becomes an object. */
const footerValuesMax = 4_000_000;
/** The same of a page. */
const headerValuesMax = 1000;

/** Where the description of a file begins, from its last eight bytes. Throws PARQUET_PARSING_ERROR. */
export const footerStart = (tail: DataView, sizeBytes: number): number => {
  const isParquet = tail.byteLength === 8 && tail.getUint32(4, true) === 0x31524150;
  if (!isParquet) throw refusal("PARQUET_PARSING_ERROR", "it does not end with PAR1");
  const length = tail.getUint32(0, true);
  if (length + 8 > sizeBytes) throw refusal("PARQUET_PARSING_ERROR", "its description is longer than the file");
  if (length > footerBytesMax) throw refusal("OVER_MAX_PARQUET_BLOCK_SIZE");
  return sizeBytes - 8 - length;
};

/** Checks that the description of a file declares no more than it has. Throws PARQUET_PARSING_ERROR. */
export const checkFooter = (footer: DataView): void => {
  new CompactThriftReader(footer, footerValuesMax).struct();
};

/** What of the header of a page decides how much memory reading it takes. */
interface PageSizes {
  readonly compressedBytes: number;
  readonly uncompressedBytes: number;
  /** Values of a page of data; undefined for a dictionary. */
  readonly values: number | undefined;
  readonly dictionaryValues: number;
}

/** Counts what the pages of a row group become, whatever the description of the file says. */
export class PageBudget {
  #bytesLeft = groupBytesMax;

  /**
   * Checks the pages of a column, up to so many values; undefined: all. Throws PARQUET_PARSING_ERROR and
   * OVER_MAX_PARQUET_BLOCK_SIZE.
   */
  checkColumn(chunk: DataView, valuesNeeded: number | undefined): void {
    let values = 0;
    // The library ends before the last byte, too.
    for (let at = 0; at < chunk.byteLength - 1 && values < (valuesNeeded ?? Infinity);) {
      const reader = new CompactThriftReader(
        new DataView(chunk.buffer, chunk.byteOffset + at, chunk.byteLength - at),
        headerValuesMax,
      );
      const page = pageSizes(reader);
      at += reader.at + page.compressedBytes;
      if (at > chunk.byteLength) throw refusal("PARQUET_PARSING_ERROR", "a page ends after its column");
      this.#bytesLeft -= page.uncompressedBytes;
      values += page.values ?? 0;
      const isTooLarge = page.uncompressedBytes > pageBytesMax || this.#bytesLeft < 0;
      if (isTooLarge || values > rowsOfGroupMax || page.dictionaryValues > rowsOfGroupMax)
        throw refusal("OVER_MAX_PARQUET_BLOCK_SIZE");
    }
  }
}

const pageSizes = (reader: CompactThriftReader): PageSizes => {
  const header = reader.struct();
  const count = (value: ReturnType<typeof header.get>): number => {
    if (typeof value === "number" && value >= 0) return value;
    throw refusal("PARQUET_PARSING_ERROR", "the header of a page is malformed");
  };
  const [data, dictionary, dataV2] = [5, 7, 8].map((field) => {
    const fields = header.get(field);
    return typeof fields === "object" ? fields : undefined;
  });
  // The second form also counts the nulls and the bytes of levels, which are parts of it.
  const nulls = dataV2 === undefined ? 0 : count(dataV2.get(2));
  const values = data === undefined ? dataV2 && count(dataV2.get(1)) : count(data.get(1));
  if (
    dataV2 !== undefined &&
    (nulls > count(dataV2.get(1)) || count(dataV2.get(5)) + count(dataV2.get(6)) > count(header.get(3)))
  )
    throw refusal("PARQUET_PARSING_ERROR", "the header of a page is malformed");
  return {
    compressedBytes: count(header.get(3)),
    uncompressedBytes: count(header.get(2)),
    values,
    dictionaryValues: dictionary === undefined ? 0 : count(dictionary.get(1)),
  };
};
