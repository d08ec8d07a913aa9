import { decompressed } from "./input/decompress.ts";
import { gathered } from "./input/gathered.ts";
import { readingStart, recordsInSpan } from "./input/record-range.ts";
import type { ResultWriter } from "./output/result-writer.ts";
import { csvResult, csvWriter, jsonWriter } from "./output/result-writer.ts";
import { csvKind } from "./records/csv-kind.ts";
import type { CsvRecord } from "./records/csv-reader.ts";
import { CsvReader } from "./records/csv-reader.ts";
import type { CsvSettings } from "./records/csv-settings.ts";
import { csvSettings } from "./records/csv-settings.ts";
import { JsonReader } from "./records/json-reader.ts";
import { parquetRecords } from "./records/parquet-reader.ts";
import { valueKind } from "./records/value-kind.ts";
import { QueryRun } from "./query-run.ts";
import { refusal } from "./refusal.ts";
import type { ScanJob } from "./scan-job.ts";
import type { ScanFigures, ScannedObject } from "./scanned-object.ts";
import { parseQuery } from "./sql/parse-query.ts";
import type { PathStep, Query } from "./sql/syntax.ts";
import { Timestamp } from "./values/timestamp.ts";
import type { Value } from "./values/value.ts";

/**
 * Runs a query over an object and yields its result in pieces. Holds no more than a piece of the object, a record and a
 * piece of the result; of a Parquet file the needed columns of a row group. Throws what refuses the query and what is
 * wrong with the object.
 */
export async function* scan(job: ScanJob, object: ScannedObject, figures: ScanFigures): AsyncGenerator<Buffer> {
  const query = parseQuery(job.expression);
  for await (const text of resultTexts(job, query, measured(object, figures), figures)) {
    if (text === "") continue;
    const piece = Buffer.from(text);
    figures.returnedBytes += piece.length;
    yield piece;
  }
}

const resultTexts = (
  job: ScanJob,
  query: Query,
  object: ScannedObject,
  figures: ScanFigures,
): AsyncIterable<string> => {
  if (job.input.kind === "csv") return csvTexts(job, csvSettings(job.input.members), query, object, figures);
  return job.input.kind === "json" ? jsonTexts(job, query, object, figures) : parquetTexts(job, query, object, figures);
};

async function* csvTexts(
  job: ScanJob,
  settings: CsvSettings,
  query: Query,
  object: ScannedObject,
  figures: ScanFigures,
): AsyncGenerator<string> {
  checkFlat(query);
  const writer = writerOf(job, settings);
  const now = instantOf(job);
  const { fileHeader, recordDelimiter } = settings;
  const isFromStart = job.span === undefined || job.span.start === 0;
  const names = fileHeader === "USE" && !isFromStart ? await headerOf(object, settings) : undefined;
  let awaitsHeader = fileHeader !== "NONE" && isFromStart;
  let run = fileHeader === "USE" && isFromStart ? undefined : new QueryRun(query, csvKind(names), writer, now);
  const reader = new CsvReader(settings, (record) => {
    if (!awaitsHeader) return (run as QueryRun<CsvRecord>).add(record);
    awaitsHeader = false;
    run ??= new QueryRun(query, csvKind(fieldsOf(record)), writer, now);
    return !run.isDone;
  });
  const begin = job.span === undefined ? 0 : readingStart(job.span, recordDelimiter);
  const bytes = gathered(object.pieces(begin, object.sizeBytes));
  const content =
    job.span === undefined ? decompressed(bytes, job.compression) : recordsInSpan(bytes, job.span, recordDelimiter);
  for await (const piece of counted(content, figures)) {
    for (let isRead = reader.push(piece); ; isRead = reader.push(empty)) {
      yield run?.takeText() ?? "";
      if (run?.isDone === true) return;
      if (isRead) break;
    }
  }
  for (let isRead = false; !isRead && run?.isDone !== true;) {
    isRead = reader.end();
    yield run?.takeText() ?? "";
  }
  // An object without a header has no columns that could be missing.
  run ??= new QueryRun(query, { ...csvKind([]), resolve: () => () => undefined }, writer, now);
  run.end();
  yield run.takeText();
}

async function* jsonTexts(
  job: ScanJob,
  query: Query,
  object: ScannedObject,
  figures: ScanFigures,
): AsyncGenerator<string> {
  const run = new QueryRun(query, valueKind, writerOf(job), instantOf(job));
  const reader = new JsonReader(stepsOf(query), (value) => run.add(value));
  const begin = job.span === undefined ? 0 : readingStart(job.span, lineFeed);
  const bytes = gathered(object.pieces(begin, object.sizeBytes));
  const content =
    job.span === undefined ? decompressed(bytes, job.compression) : recordsInSpan(bytes, job.span, lineFeed);
  for await (const piece of counted(content, figures)) {
    for (let isRead = reader.push(piece); ; isRead = reader.push(empty)) {
      yield run.takeText();
      if (run.isDone) return;
      if (isRead) break;
    }
  }
  reader.end();
  run.end();
  yield run.takeText();
}

async function* parquetTexts(
  job: ScanJob,
  query: Query,
  object: ScannedObject,
  figures: ScanFigures,
): AsyncGenerator<string> {
  checkFlat(query);
  const needed = new Set<string>();
  let needsAll = query.selected === undefined;
  const kind = {
    ...valueKind,
    resolve: (steps: readonly PathStep[]) => {
      const [first] = steps;
      if (first?.kind === "name") needed.add(first.name.toLowerCase());
      else needsAll = true;
      return valueKind.resolve(steps);
    },
  };
  const run = new QueryRun<Value>(query, kind, writerOf(job), instantOf(job));
  const needsColumn = (name: string): boolean => needsAll || needed.has(name.toLowerCase());
  for await (const record of parquetRecords(object, { needsColumn, span: job.span })) {
    figures.processedBytes = figures.scannedBytes;
    if (run.add(record)) continue;
    yield run.takeText();
    if (run.isDone) return;
  }
  figures.processedBytes = figures.scannedBytes;
  run.end();
  yield run.takeText();
}

const empty = Buffer.alloc(0);
const lineFeed = Buffer.from("\n");

const instantOf = ({ nowMs }: ScanJob): Timestamp =>
  new Timestamp(Math.floor(nowMs / 1000), (nowMs % 1000) * 1_000_000, 0, "second", 3);

/** The path from one document to its records: the first star is for the documents of the object. */
const stepsOf = ({ from }: Query): readonly PathStep[] => (from[0]?.kind === "all" ? from.slice(1) : from);

/** Throws INVALID_KEY_PATH for a path into records that have no members. */
const checkFlat = (query: Query): void => {
  if (stepsOf(query).length > 0) throw refusal("INVALID_KEY_PATH", "FROM can only name a path in JSON");
};

const writerOf = ({ output }: ScanJob, settings?: CsvSettings): ResultWriter => {
  if (output.kind === "json") return jsonWriter(output.recordDelimiter);
  const result = csvResult(output.members);
  const isVerbatim =
    settings !== undefined &&
    settings.quote === (result.quote === "" ? undefined : result.quote.charCodeAt(0)) &&
    settings.fieldDelimiter.equals(Buffer.from(result.fieldDelimiter)) &&
    settings.recordDelimiter.equals(Buffer.from(result.recordDelimiter));
  return csvWriter(result, isVerbatim);
};

const fieldsOf = (record: CsvRecord): string[] =>
  Array.from({ length: record.fieldCount }, (_each, index) => record.field(index) ?? "");

/** The names of the columns at the beginning of an object. */
const headerOf = async (object: ScannedObject, settings: CsvSettings): Promise<string[]> => {
  let names: string[] = [];
  let isFound = false;
  const reader = new CsvReader(settings, (record) => {
    names = fieldsOf(record);
    isFound = true;
    return false;
  });
  for await (const piece of gathered(object.pieces(0, object.sizeBytes))) {
    reader.push(piece);
    if (isFound) return names;
  }
  reader.end();
  return names;
};

async function* counted(pieces: AsyncIterable<Buffer>, figures: ScanFigures): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    figures.processedBytes += piece.length;
    yield piece;
  }
}

/** Counts the bytes that are read of an object. */
const measured = (object: ScannedObject, figures: ScanFigures): ScannedObject => ({
  sizeBytes: object.sizeBytes,
  pieces: async function* (from, to) {
    for await (const piece of object.pieces(from, to)) {
      figures.scannedBytes += piece.length;
      yield piece;
    }
  },
});
