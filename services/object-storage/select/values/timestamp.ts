/** How exactly an instant is known. */
export type Precision = "year" | "month" | "day" | "minute" | "second";

/** An instant as it was written: with its offset and as exact as it was. */
export class Timestamp {
  /** Seconds since the epoch. */
  readonly seconds: number;
  /** 0 to 999,999,999. */
  readonly nanos: number;
  /** Minutes that its local time is ahead of UTC. */
  readonly offsetMinutes: number;
  readonly precision: Precision;
  /** Digits of the fraction of its second, 0 to 9. */
  readonly fractionDigits: number;

  constructor(seconds: number, nanos = 0, offsetMinutes = 0, precision: Precision = "second", fractionDigits = 0) {
    this.seconds = seconds;
    this.nanos = nanos;
    this.offsetMinutes = offsetMinutes;
    this.precision = precision;
    this.fractionDigits = fractionDigits;
  }
}

const shape =
  /^(\d{4})(?:T|-(\d{2})(?:T|-(\d{2})(?:T?|[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:?\d{2})?))?)$/i;

/** Reads an instant as ISO 8601 writes it, from a year (`2020T`) to nanoseconds; undefined if it is not one. */
export const parseTimestamp = (text: string): Timestamp | undefined => {
  const match = text.length <= 40 ? shape.exec(text) : null;
  if (match === null) return undefined;
  const [, year = "", month = "01", day = "01", hour = "00", minute = "00", second = "00", fraction = ""] = match;
  const offsetMinutes = offsetOf(match[8] ?? "Z");
  const isReal =
    Number(month) >= 1 &&
    Number(month) <= 12 &&
    Number(day) >= 1 &&
    Number(day) <= daysOfMonth(Number(year), Number(month)) &&
    Number(hour) <= 23 &&
    Number(minute) <= 59 &&
    Number(second) <= 59 &&
    Math.abs(offsetMinutes) < 24 * 60;
  if (!isReal || Number(year) === 0) return undefined;
  const local = secondsOf(Number(year), Number(month), Number(day), Number(hour), Number(minute), Number(second));
  const precision = precisionOf(match);
  const nanos = Number(fraction.padEnd(9, "0"));
  return new Timestamp(local - offsetMinutes * 60, nanos, offsetMinutes, precision, fraction.length);
};

/** The timestamp as ISO 8601, as exact as it is. */
export const timestampText = (timestamp: Timestamp): string => {
  const { year, month, day, hour, minute, second } = localParts(timestamp);
  const { precision, fractionDigits, nanos } = timestamp;
  const two = (value: number): string => String(value).padStart(2, "0");
  let text = String(year).padStart(4, "0");
  if (precision === "year") return `${text}T`;
  text += `-${two(month)}`;
  if (precision === "month") return `${text}T`;
  text += `-${two(day)}`;
  if (precision === "day") return `${text}T`;
  text += `T${two(hour)}:${two(minute)}`;
  if (precision === "second") text += `:${two(second)}`;
  if (fractionDigits > 0) text += `.${String(nanos).padStart(9, "0").slice(0, fractionDigits)}`;
  return text + offsetText(timestamp.offsetMinutes);
};

/** `Z` or an offset with a colon. */
export const offsetText = (minutes: number, colon = ":"): string => {
  if (minutes === 0) return "Z";
  const positive = Math.abs(minutes);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(positive / 60))}${colon}${two(positive % 60)}`;
};

/** Negative, 0 or positive. */
export const compareTimestamps = (left: Timestamp, right: Timestamp): number =>
  left.seconds - right.seconds || left.nanos - right.nanos;

/** The parts of a timestamp in its own local time. */
export interface LocalParts {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

export const localParts = ({ seconds, offsetMinutes }: Timestamp): LocalParts => {
  const date = new Date((seconds + offsetMinutes * 60) * 1000);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
  };
};

/** Seconds since the epoch of a date and time in UTC. */
export const secondsOf = (
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
): number => {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  return date.getTime() / 1000;
};

/** The days of a month, 1 to 12. */
export const daysOfMonth = (year: number, month: number): number => {
  const date = new Date(0);
  date.setUTCFullYear(year, month, 0);
  return date.getUTCDate();
};

const offsetOf = (text: string): number => {
  if (text.toUpperCase() === "Z") return 0;
  const minutes = Number(text.slice(1, 3)) * 60 + Number(text.slice(-2));
  return text.startsWith("-") ? -minutes : minutes;
};

const precisionOf = (match: RegExpExecArray): Precision => {
  if (match[2] === undefined) return "year";
  if (match[3] === undefined) return "month";
  if (match[4] === undefined) return "day";
  return match[6] === undefined ? "minute" : "second";
};
