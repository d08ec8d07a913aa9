import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";

import { CsvRecords } from "../domain/flow/records/csv-records.ts";
import { JsonArray, JsonLines } from "../domain/flow/records/json-records.ts";
import { beginsWithArray, formatOf } from "../domain/flow/records/object-format.ts";
import type { RecordReader, SourceRecord } from "../domain/flow/records/source-record.ts";
import { ObjectUnreadable } from "../domain/flow/records/source-record.ts";
import { limits } from "../limits.ts";
import type { BucketSource, ListedObject, ReadBucket } from "./bucket-source.ts";

/**
 * Opens the records of an object after a place, which is the end of one of them or 0. Holds a part of the object and a
 * record. What is before the place is not read, and of a compressed object decompressed only. Throws SourceError and,
 * also while the records are read, ObjectUnreadable.
 */
export const openObject = async (
  source: BucketSource,
  bucket: ReadBucket,
  object: ListedObject,
  afterBytes: number,
  signal: AbortSignal,
): Promise<AsyncIterable<SourceRecord>> => {
  const read = (from: number) => source.read(bucket, object, from, limits.flowPartBytes, signal);
  const first = await read(0);
  const format = formatOf(object.key, first.contentType, first.contentEncoding);
  if (typeof format === "string") throw new ObjectUnreadable(format);
  async function* partsFrom(start: number): AsyncGenerator<Buffer> {
    let at = start;
    if (at === 0) {
      yield first.bytes;
      at = first.bytes.length;
    }
    while (at < object.sizeBytes) {
      const { bytes } = await read(at);
      if (bytes.length === 0) throw new ObjectUnreadable("it is shorter than its listing says");
      yield bytes;
      at += bytes.length;
    }
  }
  const whole = () => (format.isGzipped ? gunzipped(partsFrom(0)) : partsFrom(0));
  const isCsv = format.records === "csv";
  if (afterBytes === 0) return recordsOf(whole(), isCsv, undefined);
  const reader = isCsv
    ? new CsvRecords(await namesIn(whole()), afterBytes)
    : (await isArray(whole()))
      ? new JsonArray(afterBytes)
      : new JsonLines(afterBytes);
  const rest = format.isGzipped ? contentAfter(whole(), afterBytes, signal) : partsFrom(afterBytes);
  return recordsOf(rest, isCsv, reader);
};

async function* recordsOf(
  parts: AsyncIterable<Buffer>,
  isCsv: boolean,
  begun: RecordReader | undefined,
): AsyncGenerator<SourceRecord> {
  let reader = begun ?? (isCsv ? new CsvRecords() : undefined);
  for await (const part of parts) {
    reader ??= jsonReaderOf(part);
    yield* reader.push(part);
  }
  yield* reader?.end() ?? [];
}

const jsonReaderOf = (part: Buffer): RecordReader =>
  beginsWithArray(part) === true ? new JsonArray() : new JsonLines();

const isArray = async (parts: AsyncIterable<Buffer>): Promise<boolean> => {
  for await (const part of parts) return beginsWithArray(part) === true;
  return false;
};

/** The names in the first record of separated values. */
const namesIn = async (parts: AsyncIterable<Buffer>): Promise<readonly string[]> => {
  const reader = new CsvRecords();
  for await (const part of parts) {
    // The names are read before the first record is.
    reader.push(part)[Symbol.iterator]().next();
    if (reader.names !== undefined) return reader.names;
  }
  throw new ObjectUnreadable("its first line is missing");
};

/** What follows the first bytes of a content. */
async function* contentAfter(parts: AsyncIterable<Buffer>, bytes: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  let left = bytes;
  for await (const part of parts) {
    signal.throwIfAborted();
    if (left < part.length) yield part.subarray(left);
    left = Math.max(0, left - part.length);
  }
}

async function* gunzipped(parts: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize: limits.flowPartBytes / 4 });
  const input = Readable.from(parts);
  // Its failure is thrown where the content is read.
  input.on("error", (error) => gunzip.destroy(error));
  input.pipe(gunzip);
  let bytes = 0;
  try {
    for await (const piece of gunzip) {
      bytes += (piece as Buffer).length;
      if (bytes > limits.flowGunzippedBytesMax)
        throw new ObjectUnreadable(`it has more than ${limits.flowGunzippedBytesMax} bytes when it is decompressed`);
      yield piece as Buffer;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code?.startsWith("Z_") === true)
      throw new ObjectUnreadable("it is not in GZIP format");
    throw error;
  } finally {
    input.destroy();
  }
}
