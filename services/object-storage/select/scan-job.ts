import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault } from "../faults.ts";
import type { CompressionType } from "./input/decompress.ts";
import { compressionTypes } from "./input/decompress.ts";
import type { ByteSpan } from "./input/record-range.ts";
import type { CsvResultMembers } from "./output/result-writer.ts";
import { csvResult, jsonRecordDelimiter } from "./output/result-writer.ts";
import type { CsvMembers } from "./records/csv-settings.ts";
import { csvSettings } from "./records/csv-settings.ts";
import { refusal } from "./refusal.ts";

/** A query of one object: all that a scan needs besides the object's bytes. It can be sent to another thread. */
export interface ScanJob {
  readonly expression: string;
  readonly input: ScanInput;
  readonly compression: CompressionType;
  readonly output: ScanOutput;
  /** Undefined: the whole object. */
  readonly span: ByteSpan | undefined;
  readonly sizeBytes: number;
  /** The instant of the query, in milliseconds since the epoch. */
  readonly nowMs: number;
}

export type ScanInput =
  | { readonly kind: "csv"; readonly members: CsvMembers }
  | { readonly kind: "json" }
  | { readonly kind: "parquet" };

export type ScanOutput =
  | { readonly kind: "csv"; readonly members: CsvResultMembers }
  | { readonly kind: "json"; readonly recordDelimiter: string };

/** The members of a request that describe a query. */
export interface QueryMembers {
  readonly expression: string;
  readonly expressionType: string;
  readonly inputSerialization?: {
    readonly csv?: CsvMembers;
    readonly json?: { readonly type?: string };
    readonly parquet?: unknown;
    readonly compressionType?: string;
  };
  readonly outputSerialization?: {
    readonly csv?: CsvResultMembers;
    readonly json?: { readonly recordDelimiter?: string };
  };
  readonly scanRange?: { readonly start?: bigint; readonly end?: bigint };
}

/** Bytes of an expression. */
const expressionBytesMax = 256 * 1024;

/** What of a query is known before its object is. */
export type QuerySettings = Pick<ScanJob, "expression" | "input" | "compression" | "output">;

/**
 * Checks the members of a query that need no object. Throws, in this order: INVALID_EXPRESSION_TYPE;
 * EXPRESSION_TOO_LONG; OBJECT_SERIALIZATION_CONFLICT for not exactly one format of the object, and of the result;
 * INVALID_COMPRESSION_FORMAT; what `csvSettings` and `csvResult` throw; INVALID_JSON_TYPE;
 * UNSUPPORTED_SCAN_RANGE_INPUT.
 */
export const querySettings = (members: QueryMembers): QuerySettings => {
  const { expression, inputSerialization = {}, outputSerialization = {}, scanRange } = members;
  if (members.expressionType.toUpperCase() !== "SQL") throw refusal("INVALID_EXPRESSION_TYPE");
  if (Buffer.byteLength(expression) > expressionBytesMax) throw refusal("EXPRESSION_TOO_LONG");
  const { csv, json, parquet } = inputSerialization;
  if ([csv, json, parquet].filter((each) => each !== undefined).length !== 1)
    throw conflict("InputSerialization must contain exactly one of CSV, JSON and Parquet.");
  if ((outputSerialization.csv === undefined) === (outputSerialization.json === undefined))
    throw conflict("OutputSerialization must contain exactly one of CSV and JSON.");
  const compression = compressionOf(inputSerialization.compressionType, parquet !== undefined);
  const input = inputOf(inputSerialization);
  const output = outputOf(outputSerialization);
  if (scanRange !== undefined) checkRangeInput(inputSerialization, compression);
  return { expression, input, compression, output };
};

/** The span that a request asks for. Throws INVALID_SCAN_RANGE if it does not overlap the object. */
export const spanOf = (scanRange: QueryMembers["scanRange"], sizeBytes: number): ByteSpan | undefined => {
  if (scanRange === undefined || (scanRange.start === undefined && scanRange.end === undefined)) return undefined;
  const [start, end] = [scanRange.start, scanRange.end].map((each) => (each === undefined ? undefined : Number(each)));
  if ((start ?? 0) < 0 || (end ?? 0) < 0) throw refusal("INVALID_SCAN_RANGE", "it is negative.");
  // Only an end: so many of the last bytes.
  if (start === undefined) return { start: Math.max(0, sizeBytes - (end ?? 0)), end: sizeBytes - 1 };
  if (end !== undefined && start > end) throw refusal("INVALID_SCAN_RANGE", "it starts after its end.");
  if (start >= sizeBytes) throw refusal("INVALID_SCAN_RANGE", "it starts after the end of the object.");
  return { start, end: Math.min(end ?? sizeBytes - 1, sizeBytes - 1) };
};

const conflict = (explanation: string) => fault(ErrorReason.OBJECT_SERIALIZATION_CONFLICT, { explanation });

const compressionOf = (given: string | undefined, isParquet: boolean): CompressionType => {
  const type = compressionTypes.find((each) => each === (given || "NONE").toUpperCase());
  if (type === undefined)
    throw refusal("INVALID_COMPRESSION_FORMAT", "Only NONE, GZIP and BZIP2 are supported as CompressionType.");
  if (isParquet && type !== "NONE")
    throw refusal("INVALID_COMPRESSION_FORMAT", "Parquet files are compressed inside; CompressionType must be NONE.");
  return type;
};

const inputOf = ({ csv, json }: NonNullable<QueryMembers["inputSerialization"]>): ScanInput => {
  if (csv !== undefined) {
    csvSettings(csv);
    return { kind: "csv", members: plainMembers(csv) };
  }
  if (json === undefined) return { kind: "parquet" };
  if (!["DOCUMENT", "LINES"].includes((json.type ?? "").toUpperCase())) throw refusal("INVALID_JSON_TYPE");
  return { kind: "json" };
};

const outputOf = ({ csv, json }: NonNullable<QueryMembers["outputSerialization"]>): ScanOutput => {
  if (csv === undefined) return { kind: "json", recordDelimiter: jsonRecordDelimiter(json?.recordDelimiter) };
  csvResult(csv);
  return { kind: "csv", members: plainMembers(csv) };
};

/** The members without those of a message. */
const plainMembers = <T extends object>(members: T): T =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !name.startsWith("$"))) as T;

const checkRangeInput = (
  { csv, json }: NonNullable<QueryMembers["inputSerialization"]>,
  compression: CompressionType,
): void => {
  const reason =
    compression !== "NONE"
      ? "compressed objects"
      : csv?.allowQuotedRecordDelimiter === true
        ? "AllowQuotedRecordDelimiter"
        : json?.type?.toUpperCase() === "DOCUMENT"
          ? "JSON of the type DOCUMENT"
          : undefined;
  if (reason !== undefined) throw refusal("UNSUPPORTED_SCAN_RANGE_INPUT", reason);
};
