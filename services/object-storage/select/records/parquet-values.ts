import type { ParquetParsers, SchemaElement } from "hyparquet";

import { Timestamp } from "../values/timestamp.ts";
import type { Value } from "../values/value.ts";

const fractionOf = (units: bigint, perSecond: bigint, digits: number): Timestamp => {
  const rest = ((units % perSecond) + perSecond) % perSecond;
  const nanos = Number(rest) * 10 ** (9 - digits);
  return new Timestamp(Number((units - rest) / perSecond), nanos, 0, "second", rest === 0n ? 0 : digits);
};

/** How typed bytes of a Parquet file become values. */
export const parquetParsers: Partial<ParquetParsers> = {
  timestampFromMilliseconds: (millis) => fractionOf(millis, 1_000n, 3),
  timestampFromMicroseconds: (micros) => fractionOf(micros, 1_000_000n, 6),
  timestampFromNanoseconds: (nanos) => fractionOf(nanos, 1_000_000_000n, 9),
  dateFromDays: (days) => new Timestamp(days * 86_400, 0, 0, "day"),
  stringFromBytes: (bytes) => textOfBytes(bytes),
  jsonFromBytes: (bytes) => textOfBytes(bytes),
};

const textOfBytes = (bytes: Uint8Array | undefined): string | undefined =>
  bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");

/** Whether the numbers of a column are integers. */
export const isIntegerColumn = ({ type, converted_type: converted }: SchemaElement): boolean =>
  (type === "INT32" || type === "INT64") && converted !== "DECIMAL";

/** A value as the Parquet library returns it. Bytes that are no text become base64. */
export const parquetValue = (given: unknown, isInteger: boolean): Value => {
  if (given === undefined || given === null) return null;
  if (typeof given === "number") return isInteger && Number.isInteger(given) ? BigInt(given) : given;
  if (given instanceof Timestamp) return given;
  if (given instanceof Date) return new Timestamp(Math.floor(given.getTime() / 1000));
  if (given instanceof Uint8Array) return Buffer.from(given).toString("base64");
  if (Array.isArray(given)) return given.map((item) => parquetValue(item, isInteger));
  if (typeof given !== "object") return given as Value;
  return new Map(Object.entries(given).map(([name, member]) => [name, parquetValue(member, false)]));
};
