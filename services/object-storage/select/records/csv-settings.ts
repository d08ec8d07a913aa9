import { refusal } from "../refusal.ts";

/** What the first record of separated values is. */
export type FileHeader = "USE" | "IGNORE" | "NONE";

/** How an object of separated values is written. */
export interface CsvSettings {
  readonly fileHeader: FileHeader;
  /** The byte with which comments begin; undefined: there are none. */
  readonly comment: number | undefined;
  readonly quote: number | undefined;
  /** Escapes a quote between quotes; the quote itself: it is doubled. */
  readonly escape: number | undefined;
  readonly fieldDelimiter: Buffer;
  readonly recordDelimiter: Buffer;
  readonly allowsQuotedRecordDelimiter: boolean;
}

/** The members of a request that describe separated values, as the caller wrote them. */
export interface CsvMembers {
  readonly fileHeaderInfo?: string;
  readonly comments?: string;
  readonly quoteEscapeCharacter?: string;
  readonly recordDelimiter?: string;
  readonly fieldDelimiter?: string;
  readonly quoteCharacter?: string;
  readonly allowQuotedRecordDelimiter?: boolean;
}

/** Characters of a delimiter. */
const delimiterCharactersMax = 2;

const fileHeaders: readonly string[] = ["USE", "IGNORE", "NONE"] satisfies FileHeader[];

/** The settings of an object. Throws INVALID_FILE_HEADER_INFO and INVALID_REQUEST_PARAMETER. */
export const csvSettings = (members: CsvMembers): CsvSettings => {
  const fileHeader = (members.fileHeaderInfo || "NONE").toUpperCase();
  if (!fileHeaders.includes(fileHeader)) throw refusal("INVALID_FILE_HEADER_INFO");
  const quote = oneByte("QuoteCharacter", members.quoteCharacter ?? '"');
  const settings = {
    fileHeader: fileHeader as FileHeader,
    comment: oneByte("Comments", members.comments ?? "#"),
    quote,
    escape: members.quoteEscapeCharacter ? oneByte("QuoteEscapeCharacter", members.quoteEscapeCharacter) : quote,
    fieldDelimiter: delimiter("FieldDelimiter", members.fieldDelimiter, ","),
    recordDelimiter: delimiter("RecordDelimiter", members.recordDelimiter, "\n"),
    allowsQuotedRecordDelimiter: members.allowQuotedRecordDelimiter ?? false,
  };
  checkDistinct(settings);
  return settings;
};

/** A delimiter of one or two characters. Throws INVALID_REQUEST_PARAMETER. */
export const delimiter = (name: string, text: string | undefined, unset: string): Buffer => {
  const given = text === undefined || text === "" ? unset : text;
  if (Array.from(given).length > delimiterCharactersMax)
    throw refusal(
      "INVALID_REQUEST_PARAMETER",
      `The value of ${name} has more than ${delimiterCharactersMax} characters.`,
    );
  return Buffer.from(given);
};

/** A character that is one byte; undefined for no character. Throws INVALID_REQUEST_PARAMETER. */
export const oneByte = (name: string, text: string): number | undefined => {
  const bytes = Buffer.from(text);
  if (bytes.length > 1) throw refusal("INVALID_REQUEST_PARAMETER", `The value of ${name} is not one ASCII character.`);
  return bytes[0];
};

/** What ends a field, ends a record and quotes cannot be the same. */
const checkDistinct = ({ quote, fieldDelimiter, recordDelimiter }: CsvSettings): void => {
  const [field, record] = [fieldDelimiter[0], recordDelimiter[0]];
  if (field === record || field === quote || record === quote)
    throw refusal(
      "INVALID_REQUEST_PARAMETER",
      "FieldDelimiter, RecordDelimiter and QuoteCharacter begin with the same character.",
    );
};
