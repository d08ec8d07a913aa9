/*
 * Goal: separated values are read as they were written, whatever they contain and however they arrive. Method: random
 * tables, written by a simple writer that quotes every field, are searched for all records and for those of a condition
 * that plain code decides as well.
 */
import { expect, test } from "vitest";

import { seededRandom } from "../../kit/store/seeded-random.ts";
import { resultOf } from "./query.ts";

const texts = ["", "a", "b b", '"', '""', ",", "a,b", "\n", "\r\n", "#", "é", "😀", "12", "-3.5", "x".repeat(70)];

const quoted = (field: string): string => `"${field.replaceAll('"', '""')}"`;

test.each(Array.from({ length: 40 }, (_each, seed) => [seed]))("a random table of seed %i is read", async (seed) => {
  const random = seededRandom(seed);
  const columns = 1 + (seed % 5);
  const rows = Array.from({ length: 30 }, () => Array.from({ length: columns }, () => random.pick(texts)));
  const content = rows.map((row) => `${row.map(quoted).join(",")}\n`).join("");
  const options = {
    input: { csv: { allowQuotedRecordDelimiter: true } },
    output: { json: {} },
    pieceBytes: 1 + (seed % 17),
  };
  const written = (kept: readonly (readonly string[])[]): string =>
    kept
      .map((row) => `${JSON.stringify(Object.fromEntries(row.map((field, index) => [`_${index + 1}`, field])))}\n`)
      .join("");
  expect(await resultOf("SELECT * FROM S3Object", content, options)).toBe(written(rows));
  expect(await resultOf("SELECT * FROM S3Object WHERE _1 = 'a,b' OR _1 LIKE '%x%'", content, options)).toBe(
    written(rows.filter(([first]) => first === "a,b" || first?.includes("x"))),
  );
});
