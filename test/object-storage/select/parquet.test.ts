import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { parquetWriteBuffer } from "hyparquet-writer";
import { describe, expect, test } from "vitest";

import { resultOf, runQuery } from "./query.ts";

const input = { parquet: {} };
const json = { json: {} };

const file = (codec: "SNAPPY" | "GZIP" | "UNCOMPRESSED", rowGroupSize = 2): Uint8Array =>
  new Uint8Array(
    parquetWriteBuffer({
      columnData: [
        { name: "id", data: [1, 2, 3], type: "INT32" },
        { name: "big", data: [9_007_199_254_740_993n, -1n, 0n], type: "INT64" },
        { name: "name", data: ["Ann", "Bøb", undefined], type: "STRING", nullable: true },
        { name: "price", data: [1.5, 2, -3.25], type: "DOUBLE" },
        { name: "isNew", data: [true, false, true], type: "BOOLEAN" },
        { name: "at", data: [0, 1, 2].map((day) => new Date(Date.UTC(2024, 1, 28 + day))), type: "TIMESTAMP" },
      ],
      codec,
      compressors: { GZIP: (bytes) => gzipSync(bytes) },
      rowGroupSize,
    }),
  );

describe("a Parquet file", () => {
  test.each(["SNAPPY", "GZIP", "UNCOMPRESSED"] as const)("compressed by %s is read", async (codec) => {
    expect(await resultOf("SELECT * FROM S3Object s WHERE s.id <> 2", file(codec), { input, output: json })).toBe(
      '{"id":1,"big":9007199254740993,"name":"Ann","price":1.5,"isNew":true,"at":"2024-02-28T00:00:00Z"}\n' +
        '{"id":3,"big":0,"name":null,"price":-3.25,"isNew":true,"at":"2024-03-01T00:00:00Z"}\n',
    );
  });

  test.each(["zstd", "brotli"])("that pyarrow has compressed by %s is read", async (codec) => {
    // Of three rows: id int32, name with a null, price double, day date32, big int64, note of repeated text.
    const content = await readFile(join(import.meta.dirname, `files/people-${codec}.parquet`));
    const query = "SELECT id, name, price, day, big, CHAR_LENGTH(note) FROM S3Object";
    expect(await resultOf(query, content, { input })).toBe(
      "1,Ann,1.5,1970-01-01T,9007199254740993,200\n2,Bøb,2,1970-01-02T,-1,200\n3,,-3.25,1970-01-03T,0,200\n",
    );
  });

  test.each([
    // query, result
    ["SELECT s.NAME, s.id / 2 FROM S3Object s", "Ann,0\nBøb,1\n,1\n"],
    [
      "SELECT SUM(id), AVG(price), COUNT(name), MIN(at) FROM S3Object",
      "6,0.08333333333333333,2,2024-02-28T00:00:00Z\n",
    ],
    ["SELECT COUNT(*) FROM S3Object", "3\n"],
    ["SELECT none, id FROM S3Object LIMIT 1", ",1\n"],
    ["SELECT id FROM S3Object WHERE at BETWEEN '2024-02-29T' AND '2024-02-29T'", "2\n"],
  ])("is searched by %s", async (query, result) => {
    expect(await resultOf(query, file("SNAPPY"), { input })).toBe(result);
  });

  test("is read in a range of bytes if a row group begins there", async () => {
    const content = file("UNCOMPRESSED", 1);
    const found = async (start: bigint, end: bigint) =>
      resultOf("SELECT id FROM S3Object", content, { input, range: { start, end } });
    const half = BigInt(Math.floor(content.length / 4));
    const parts = [await found(0n, half), await found(half + 1n, 2n * half), await found(2n * half + 1n, 9999n)];
    expect(parts.join("")).toBe("1\n2\n3\n");
  });

  test("needs only the bytes of the columns of the query", async () => {
    const wide = new Uint8Array(
      parquetWriteBuffer({
        columnData: [
          { name: "n", data: [1, 2], type: "INT32" },
          { name: "text", data: ["a".repeat(2_000_000), "b".repeat(2_000_000)], type: "STRING" },
        ],
        codec: "UNCOMPRESSED",
      }),
    );
    const { text, figures } = await runQuery("SELECT SUM(n) FROM S3Object", wide, { input });
    expect(text).toBe("3\n");
    expect(figures.scannedBytes).toBeLessThan(600_000);
  });

  test.each([
    // content, reason
    [new Uint8Array(0), "PARQUET_PARSING_ERROR"],
    [Buffer.from("id,name\n1,Ann\n"), "PARQUET_PARSING_ERROR"],
    [file("SNAPPY").slice(100), "PARQUET_PARSING_ERROR"],
    [
      Buffer.concat([Buffer.alloc(200, 7), Buffer.from("ff000000", "hex"), Buffer.from("PAR1")]),
      "PARQUET_PARSING_ERROR",
    ],
  ])("that is %.4s is refused with %s", async (content, reason) => {
    expect(await resultOf("SELECT * FROM S3Object", content, { input })).toMatch(new RegExp(`^${reason}: `));
  });

  test("has no paths in FROM", async () => {
    expect(await resultOf("SELECT * FROM S3Object[*].name", file("SNAPPY"), { input })).toMatch(/^INVALID_KEY_PATH: /);
  });
});
