import { refusal, shown } from "../refusal.ts";
import type { LocalParts, Timestamp } from "../values/timestamp.ts";
import { localParts, offsetText } from "../values/timestamp.ts";

const months = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];

const padded = (value: number, digits: number): string => String(value).padStart(digits, "0");
const hour12 = ({ hour }: LocalParts): number => hour % 12 || 12;
const monthName = ({ month }: LocalParts): string => months[month - 1] ?? "";

/**
 * An offset: by hours alone if the symbol is one letter and it has no minutes; with a colon if the symbol has three or
 * five. A small letter writes no `Z`.
 */
const offsetPart = (symbol: string, minutes: number): string => {
  const colon = symbol.length === 3 || symbol.length === 5 ? ":" : "";
  if (minutes === 0 && symbol.startsWith("X")) return "Z";
  const text = minutes === 0 ? `+00${colon}00` : offsetText(minutes, colon);
  return symbol.length === 1 && minutes % 60 === 0 ? text.slice(0, 3) : text;
};

type Part = (parts: LocalParts, timestamp: Timestamp) => string;

/** What each symbol of a pattern writes; `S`, `X` and `x` are not in the table because of their lengths. */
const symbols: Readonly<Record<string, Part>> = {
  yy: ({ year }) => padded(year % 100, 2),
  y: ({ year }) => String(year),
  yyyy: ({ year }) => padded(year, 4),
  M: ({ month }) => String(month),
  MM: ({ month }) => padded(month, 2),
  MMM: (parts) => monthName(parts).slice(0, 3),
  MMMM: monthName,
  MMMMM: (parts) => monthName(parts).slice(0, 1),
  d: ({ day }) => String(day),
  dd: ({ day }) => padded(day, 2),
  a: ({ hour }) => (hour < 12 ? "AM" : "PM"),
  h: (parts) => String(hour12(parts)),
  hh: (parts) => padded(hour12(parts), 2),
  H: ({ hour }) => String(hour),
  HH: ({ hour }) => padded(hour, 2),
  m: ({ minute }) => String(minute),
  mm: ({ minute }) => padded(minute, 2),
  s: ({ second }) => String(second),
  ss: ({ second }) => padded(second, 2),
  n: (_parts, { nanos }) => String(nanos),
};

/**
 * Compiles a pattern of TO_STRING: letters are symbols, texts between single quotes and other characters are written
 * as they are. Throws EVALUATOR_INVALID_TIMESTAMP_FORMAT_PATTERN.
 */
export const compileTimestampFormat = (pattern: string): ((timestamp: Timestamp) => string) => {
  const parts = [...pattern.matchAll(/'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'/g)].map(([text, quoted, letter]) => {
    if (quoted !== undefined) return literal(quoted === "" ? "'" : quoted.replaceAll("''", "'"));
    if (text === "'") throw invalid("a quote has no end");
    return letter === undefined ? literal(text) : symbolPart(text);
  });
  return (timestamp) => {
    const local = localParts(timestamp);
    return parts.map((part) => part(local, timestamp)).join("");
  };
};

const literal =
  (text: string): Part =>
  () =>
    text;

const symbolPart = (symbol: string): Part => {
  if (/^S{1,9}$/.test(symbol)) return (_parts, { nanos }) => padded(nanos, 9).slice(0, symbol.length);
  if (/^[Xx]{1,5}$/.test(symbol)) return (_parts, { offsetMinutes }) => offsetPart(symbol, offsetMinutes);
  const part = Object.hasOwn(symbols, symbol) ? symbols[symbol] : undefined;
  if (part === undefined) throw invalid(shown(symbol));
  return part;
};

const invalid = (explanation: string) => refusal("EVALUATOR_INVALID_TIMESTAMP_FORMAT_PATTERN", explanation);
