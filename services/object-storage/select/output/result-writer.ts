import { delimiter, oneByte } from "../records/csv-settings.ts";
import { recordBytesMax } from "../records/record-limits.ts";
import { refusal } from "../refusal.ts";
import { isPlain } from "../evaluate/texts.ts";
import type { Value } from "../values/value.ts";
import { textOf } from "../values/value.ts";
import { jsonText } from "./json-text.ts";

/** Writes the records of a result as text. */
export interface ResultWriter {
  /** The text of one record with its end. Throws OVER_MAX_RECORD_SIZE. */
  record(names: readonly string[], values: readonly Value[]): string;
  /** Adds the end to a record that the object has in the form of the result; undefined: it has to be written. */
  readonly verbatimEnd: string | undefined;
}

/** How a result of separated values is written. */
export interface CsvResult {
  readonly isAlwaysQuoted: boolean;
  readonly quote: string;
  readonly escape: string;
  readonly fieldDelimiter: string;
  readonly recordDelimiter: string;
}

/** The members of a request that describe a result of separated values. */
export interface CsvResultMembers {
  readonly quoteFields?: string;
  readonly quoteEscapeCharacter?: string;
  readonly recordDelimiter?: string;
  readonly fieldDelimiter?: string;
  readonly quoteCharacter?: string;
}

/** Throws INVALID_QUOTE_FIELDS and INVALID_REQUEST_PARAMETER. */
export const csvResult = (members: CsvResultMembers): CsvResult => {
  const quoteFields = (members.quoteFields || "ASNEEDED").toUpperCase();
  if (quoteFields !== "ALWAYS" && quoteFields !== "ASNEEDED") throw refusal("INVALID_QUOTE_FIELDS");
  const quote = characterOf("QuoteCharacter", members.quoteCharacter ?? '"');
  return {
    isAlwaysQuoted: quoteFields === "ALWAYS",
    quote,
    escape: members.quoteEscapeCharacter ? characterOf("QuoteEscapeCharacter", members.quoteEscapeCharacter) : quote,
    fieldDelimiter: delimiter("FieldDelimiter", members.fieldDelimiter, ",").toString(),
    recordDelimiter: delimiter("RecordDelimiter", members.recordDelimiter, "\n").toString(),
  };
};

/** The text that ends each record of a JSON result. Throws INVALID_REQUEST_PARAMETER. */
export const jsonRecordDelimiter = (text: string | undefined): string =>
  delimiter("RecordDelimiter", text, "\n").toString();

const characterOf = (name: string, text: string): string => {
  const byte = oneByte(name, text);
  return byte === undefined ? "" : String.fromCharCode(byte);
};

/**
 * Writes records of separated values. What is missing and null are empty; a list or structure is its JSON text. A field
 * is quoted if it contains a delimiter, a quote or the end of a line. `isVerbatim`: the object has the same delimiters.
 */
export const csvWriter = (settings: CsvResult, isVerbatim: boolean): ResultWriter => {
  const { isAlwaysQuoted, quote, escape, fieldDelimiter, recordDelimiter } = settings;
  const special = new RegExp(
    `[\\r\\n${[quote, fieldDelimiter, recordDelimiter].join("").replaceAll(/[\\\]^-]/g, String.raw`\\$&`)}]`,
    "u",
  );
  const written = (value: Value): string => {
    const text = typeof value === "string" ? value : isPlain(value) ? textOf(value) : jsonText(value);
    if (quote === "" || (!isAlwaysQuoted && !special.test(text))) return text;
    const inside = escape === quote ? text : text.replaceAll(escape, escape + escape);
    return quote + inside.replaceAll(quote, escape + quote) + quote;
  };
  return {
    record: (_names, values) => {
      let text = values.length === 0 ? "" : written(values[0]);
      for (let index = 1; index < values.length; index++)
        text = checked(text + fieldDelimiter + written(values[index]));
      return checked(text) + recordDelimiter;
    },
    verbatimEnd: isVerbatim && !isAlwaysQuoted ? recordDelimiter : undefined,
  };
};

/** Writes records as JSON objects. Members that are missing are left out. */
export const jsonWriter = (recordDelimiter: string): ResultWriter => {
  const keys = new Map<string, string>();
  const keyOf = (name: string): string => {
    let key = keys.get(name);
    if (key === undefined) {
      key = `${JSON.stringify(name)}:`;
      // Names of records may all be different.
      if (keys.size < keysMax) keys.set(name, key);
    }
    return key;
  };
  return {
    record: (names, values) => {
      let text = "{";
      for (const [index, value] of values.entries()) {
        if (value === undefined) continue;
        text = checked(text + (text.length > 1 ? "," : "") + keyOf(names[index] ?? "") + jsonText(value));
      }
      return `${checked(text)}}${recordDelimiter}`;
    },
    verbatimEnd: undefined,
  };
};

/** Names whose written form is kept. */
const keysMax = 1000;

const checked = (text: string): string => {
  if (text.length > recordBytesMax) throw refusal("OVER_MAX_RECORD_SIZE");
  return text;
};
