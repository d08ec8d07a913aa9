import { isSpace } from "./source-record.ts";

/** How the records of an object are written. */
export interface ObjectFormat {
  readonly records: "csv" | "json";
  readonly isGzipped: boolean;
}

/** What names a format, in the end of a key and in a content type. */
const formats = [
  { records: "csv", key: /\.csv$/i, type: /^(?:text|application)\/csv$/ },
  {
    records: "json",
    key: /\.(?:json|jsonl|ndjson)$/i,
    type: /^application\/(?:json|jsonl|x-ndjson|x-jsonlines|jsonlines)$/,
  },
] as const;

/** The format that the key of an object names, or, if that names none, its content type; a text: why it has none. */
export const formatOf = (key: string, contentType: string, contentEncoding: string): ObjectFormat | string => {
  const isGzipped = /\.gz(?:ip)?$/i.test(key) || contentEncoding.trim().toLowerCase() === "gzip";
  const name = key.replace(/\.gz(?:ip)?$/i, "");
  const type = (contentType.split(";")[0] ?? "").trim().toLowerCase();
  if (/\.parquet$/i.test(name)) return "flows read CSV and JSON, not Parquet";
  const found = formats.find((format) => format.key.test(name)) ?? formats.find((format) => format.type.test(type));
  return found === undefined
    ? "neither its key (.csv, .json, .jsonl, .ndjson, also with .gz) nor its content type says that it is CSV or JSON"
    : { records: found.records, isGzipped };
};

/** Whether JSON begins with an array; undefined: that is not known yet. */
export const beginsWithArray = (bytes: Buffer): boolean | undefined => {
  const first = bytes.find((byte) => !isSpace(byte));
  return first === undefined ? undefined : first === 91;
};
