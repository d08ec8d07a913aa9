import { zstdCompressSync } from "node:zlib";

import { parquetWriteBuffer } from "hyparquet-writer";
import { describe, expect, onTestFinished, test } from "vitest";

import { ServiceError } from "../../../services/kit/faults/service-error.ts";
import { ScanPool } from "../../../services/object-storage/select/worker/scan-pool.ts";
import type { ThriftStruct } from "./parquet-file.ts";
import { columnFile, dataPage, footerFile, page, parquet, parquetJob, thriftStruct, varint } from "./parquet-file.ts";
import { resultOf } from "./query.ts";

const { int32, int64, byteArray, plain, delta, rleDictionary, snappy, zstd } = parquet;
const mebibyte = 1024 * 1024;

/** A list of lists of lists ..., each with 33 million items by what it says. */
const longLists = Buffer.concat([
  Buffer.of(0x19),
  ...Array.from({ length: 8 }, () => Buffer.concat([Buffer.of(0xf9), varint(33_000_000)])),
]);

/** A run of one value, and the length of it. */
const run = (count: number, value: number): Buffer => {
  const bytes = Buffer.concat([varint(2 * count), Buffer.of(value)]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([length, bytes]);
};

/** A page of the second form. */
const secondPage = (described: ThriftStruct): Buffer => page({ 1: 3, 2: 8, 3: 8, 8: described }, Buffer.alloc(8));

const one = (type: number, content: Buffer, codec = 0): Buffer =>
  columnFile({ type, codec, rows: 1000, pages: [content] });

describe("a Parquet file", () => {
  test.each([
    // what it declares, file, reason
    ["lists of lists of 33 million items", footerFile(longLists), "PARQUET_PARSING_ERROR"],
    [
      "five million empty structures",
      footerFile(Buffer.concat([Buffer.of(0x19, 0xfc), varint(5_000_000), Buffer.alloc(5_000_000)])),
      "PARQUET_PARSING_ERROR",
    ],
    ["100,000 structures in each other", footerFile(Buffer.alloc(100_000, 0x1c)), "PARQUET_PARSING_ERROR"],
    [
      "more bytes of its description than it has",
      Buffer.from("PAR1\u00ff\u00ff\u0000\u0000PAR1"),
      "PARQUET_PARSING_ERROR",
    ],
    ["a name of 4 GiB", footerFile(Buffer.from([0x18, 0xff, 0xff, 0xff, 0xff, 0x0f])), "PARQUET_PARSING_ERROR"],
    ["an integer of 11 bytes", footerFile(Buffer.from([0x16, ...Buffer.alloc(11, 255)])), "PARQUET_PARSING_ERROR"],
    ["4,000,000,000,000 rows", columnFile({ type: int32, rows: 4e12, pages: [] }), "OVER_MAX_PARQUET_BLOCK_SIZE"],
    [
      "two thousand million differences",
      one(int64, dataPage(2e9, delta, Buffer.alloc(9))),
      "OVER_MAX_PARQUET_BLOCK_SIZE",
    ],
    [
      "two thousand million zeros",
      one(int32, dataPage(2e9, rleDictionary, Buffer.of(0))),
      "OVER_MAX_PARQUET_BLOCK_SIZE",
    ],
    [
      "a dictionary of two thousand million values",
      one(int32, page({ 1: 2, 2: 8, 3: 8, 7: { 1: 2e9, 2: 0 } }, Buffer.alloc(8))),
      "OVER_MAX_PARQUET_BLOCK_SIZE",
    ],
    ["fewer than no nulls", one(int64, secondPage({ 1: 1, 2: -2e9, 3: 1, 4: 5, 5: 0, 6: 0 })), "PARQUET_PARSING_ERROR"],
    ["levels after its page", one(int64, secondPage({ 1: 1, 2: 0, 3: 1, 4: 5, 5: 8, 6: 1 })), "PARQUET_PARSING_ERROR"],
    [
      "a page that ends after its column",
      one(int32, dataPage(9, plain, Buffer.alloc(8)).subarray(0, -1)),
      "PARQUET_PARSING_ERROR",
    ],
    [
      "two thousand million bytes by Snappy",
      one(byteArray, dataPage(9, plain, Buffer.alloc(99), 2e9), snappy),
      "OVER_MAX_PARQUET_BLOCK_SIZE",
    ],
    [
      "five pages of 64 MiB each, of 6 KiB compressed",
      columnFile({
        type: byteArray,
        codec: zstd,
        rows: 1000,
        pages: Array.from({ length: 5 }, () =>
          dataPage(1, plain, zstdCompressSync(Buffer.alloc(64 * mebibyte)), 64 * mebibyte),
        ),
      }),
      "OVER_MAX_PARQUET_BLOCK_SIZE",
    ],
  ])("that declares %s is refused before memory is taken", async (_what, file, reason) => {
    const before = process.memoryUsage().arrayBuffers;
    const result = await resultOf("SELECT COUNT(a) FROM S3Object", file, {
      input: { parquet: {} },
      pieceBytes: mebibyte,
    });
    expect(result).toMatch(new RegExp(`^${reason}: `));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * mebibyte);
  });

  test("that declares bytes of a column less than none is refused", async () => {
    const file = footerFile(
      thriftStruct({
        1: 1,
        2: [
          { 4: "schema", 5: 1 },
          { 1: int32, 3: 0, 4: "a" },
        ],
        3: 1n,
        4: [{ 1: [{ 2: 4n, 3: { 1: 1, 2: [0], 3: ["a"], 4: 0, 5: 1n, 6: 9n, 7: -5n, 9: 4n } }], 2: 9n, 3: 1n }],
      }),
    );
    expect(await resultOf("SELECT a FROM S3Object", file, { input: { parquet: {} } })).toMatch(
      /^PARQUET_PARSING_ERROR: /,
    );
  });
});

const scanned = (expression: string, file: Uint8Array) => ({
  job: parquetJob(expression, file),
  object: {
    sizeBytes: file.length,
    pieces: async function* (from: number, to: number) {
      yield file.subarray(from, to);
    },
  },
});

const textOf = async (pool: ScanPool, expression: string, file: Uint8Array): Promise<string> => {
  const { job, object } = scanned(expression, file);
  let text = "";
  try {
    for await (const { result } of pool.run("111122223333", job, object, new AbortController().signal))
      text += Buffer.from(result ?? []).toString();
  } catch (error) {
    if (error instanceof ServiceError) return error.facts.reason;
    throw error;
  }
  return text;
};

const startPool = (): ScanPool => {
  const pool = new ScanPool({ threads: 1, timeLimitMs: 60_000 });
  onTestFinished(() => pool.close());
  return pool;
};

test(
  "A Parquet file whose run of a value has no end only ends the process that reads it",
  { timeout: 60_000 },
  async () => {
    const pool = startPool();
    const bomb = columnFile({
      type: int32,
      repetition: 1,
      rows: 1000,
      pages: [dataPage(1000, plain, run(2 ** 30 - 1, 0))],
    });
    expect(await textOf(pool, "SELECT COUNT(a) FROM S3Object", bomb)).toBe("OVER_MAX_PARQUET_BLOCK_SIZE");
    const small = new Uint8Array(parquetWriteBuffer({ columnData: [{ name: "a", data: [7], type: "INT32" }] }));
    expect(await textOf(pool, "SELECT a FROM S3Object", small)).toBe("7\n");
  },
);

test("Columns that are not next to each other are read one after the other", async () => {
  const texts = (letter: string) => Array.from({ length: 3 }, (_each, index) => letter.repeat(20_000) + index);
  const file = new Uint8Array(
    parquetWriteBuffer({
      columnData: ["a", "b", "c"].map((name) => ({ name, data: texts(name), type: "STRING" as const })),
      codec: "UNCOMPRESSED",
    }),
  );
  const query = "SELECT SUBSTRING(a, 20000), SUBSTRING(c, 20000) FROM S3Object";
  expect(await textOf(startPool(), query, file)).toBe("a0,c0\na1,c1\na2,c2\n");
});
