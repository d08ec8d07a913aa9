import { ServiceError } from "../../../services/kit/faults/service-error.ts";
import type { QueryMembers } from "../../../services/object-storage/select/scan-job.ts";
import { checkFooter, PageBudget } from "../../../services/object-storage/select/records/parquet-bounds.ts";
import { querySettings } from "../../../services/object-storage/select/scan-job.ts";
import { scan } from "../../../services/object-storage/select/scan.ts";
import { parseQuery } from "../../../services/object-storage/select/sql/parse-query.ts";
import type { FuzzTarget } from "../target.ts";
import { holds, outcomeOf, piecesOf, unlessRefused } from "../target.ts";

type Input = NonNullable<QueryMembers["inputSerialization"]>;

/** The result of a query over an object that arrives in these pieces, as JSON. */
const resultOf = async (expression: string, inputSerialization: Input, pieces: readonly Buffer[]): Promise<string> => {
  const whole = Buffer.concat(pieces);
  const settings = querySettings({
    expression,
    expressionType: "SQL",
    inputSerialization,
    outputSerialization: { json: {} },
  });
  const object = {
    sizeBytes: whole.length,
    pieces: async function* (from: number, to: number) {
      if (from === 0 && to === whole.length) yield* pieces;
      else yield whole.subarray(from, to);
    },
  };
  const figures = { scannedBytes: 0, processedBytes: 0, returnedBytes: 0 };
  let text = "";
  const job = { ...settings, span: undefined, sizeBytes: whole.length, nowMs: 0 };
  for await (const piece of scan(job, object, figures)) text += piece.toString("latin1");
  return text;
};

/** A record that arrives in pieces of a few bytes is looked at again with each, so long ones take too long so. */
const piecedBytesMax = 4096;

/** An object in pieces has the same result, or the same refusal, as in one. */
const sameInPieces = async (inputSerialization: Input, input: Buffer): Promise<void> => {
  const query = "SELECT * FROM S3Object";
  const whole = await outcomeOf(() => resultOf(query, inputSerialization, [input]), ServiceError);
  if (input.length > piecedBytesMax) return;
  const parts = await outcomeOf(() => resultOf(query, inputSerialization, piecesOf(input)), ServiceError);
  holds(whole === parts, "an object in pieces is read differently");
};

const sql: FuzzTarget = {
  name: "select-query",
  seeds: [
    "SELECT * FROM S3Object",
    "SELECT s.a, COUNT(*) AS n FROM S3Object[*].x[0] s WHERE a = 'b' AND NOT c LIKE '%d_' ESCAPE '!' LIMIT 5",
    "SELECT CASE WHEN a BETWEEN 1 AND 2 THEN CAST(b AS DECIMAL(5, 2)) ELSE COALESCE(c, NULL) END FROM S3Object",
    "SELECT EXTRACT(YEAR FROM TO_TIMESTAMP(a)), SUBSTRING(b FROM 2 FOR 3), TRIM(BOTH 'x' FROM c) FROM S3Object",
  ],
  dictionary: [
    "SELECT ",
    " FROM S3Object",
    " WHERE ",
    " LIKE ",
    " IN (",
    "CAST(",
    " AS INT)",
    "''",
    '"',
    "--",
    "/*",
    "||",
  ],
  run: async (input) => {
    const text = input.toString("utf8");
    unlessRefused(() => parseQuery(text));
    await outcomeOf(
      () => resultOf(text, { csv: { fileHeaderInfo: "USE" } }, [Buffer.from("a,b,c\n1,x,2020T\n")]),
      ServiceError,
    );
  },
};

const csv: FuzzTarget = {
  name: "select-csv",
  seeds: ["a,b\n1,2\n", '"a ""b""",c\r\n#no\n\n', '"a\nb",\n', "é,😀\n"],
  dictionary: ['""', '"', ",", "\n", "\r\n", "#", "\\"],
  run: async (input) => {
    await sameInPieces({ csv: { allowQuotedRecordDelimiter: true } }, input);
    await sameInPieces({ csv: { fieldDelimiter: ";;", recordDelimiter: "é", quoteEscapeCharacter: "\\" } }, input);
  },
};

const json: FuzzTarget = {
  name: "select-json",
  seeds: ['{"a":[1,2.5,{"b":null}]}\n{"a":"x\\n"}', "[[1],[]] true 1e5", '{"a":{"a":{}}}'],
  dictionary: ['{"', '":', "[", "]", "{}", "null", "1e9", "\\u0000", "\\", '"', ","],
  run: async (input) => sameInPieces({ json: { type: "LINES" } }, input),
};

/** The beginning and the end of a Parquet file of one column without rows. */
const parquetSeed = `PAR1${Buffer.from("15041c00160019", "hex").toString("latin1")}\u0007\u0000\u0000\u0000PAR1`;

const parquet: FuzzTarget = {
  name: "select-parquet",
  seeds: [parquetSeed],
  dictionary: ["PAR1", "\u0000\u0000\u0000\u0000", "\u0015\u0004", "\u0019\u001c"],
  run: async (input) => {
    await outcomeOf(() => resultOf("SELECT COUNT(*) FROM S3Object LIMIT 0", { parquet: {} }, [input]), ServiceError);
  },
};

/** The header of a page of 4 values and 8 bytes, and its bytes. */
const pageSeed = Buffer.from("150015101510 2c1508150015061506 0000 0102030405060708".replaceAll(" ", ""), "hex");

/** What is read of Parquet files before the library is: it must not believe any size. */
const parquetBounds: FuzzTarget = {
  name: "select-parquet-bounds",
  seeds: [pageSeed.toString("latin1"), "\u0015\u0002\u0019\u001c\u0018\u0001a\u0000\u0016\u0002\u0000"],
  dictionary: ["\u0019\u00fc", "\u0015\u0010", "\u001c", "\u00ff\u00ff\u00ff\u00ff\u000f", "\u0000"],
  run: (input) => {
    const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
    unlessRefused(() => checkFooter(view));
    unlessRefused(() => new PageBudget().checkColumn(view, undefined));
  },
};

export const selectTargets: readonly FuzzTarget[] = [sql, csv, json, parquet, parquetBounds];
