import { refusal } from "../refusal.ts";
import type { DatePart } from "../sql/syntax.ts";
import type { Precision } from "../values/timestamp.ts";
import { daysOfMonth, localParts, secondsOf, Timestamp } from "../values/timestamp.ts";
import { addDecimals } from "../values/decimal.ts";
import type { Value } from "../values/value.ts";

/** Seconds of the parts that always have the same length. */
const partSeconds: Partial<Readonly<Record<DatePart, number>>> = { DAY: 86_400, HOUR: 3600, MINUTE: 60, SECOND: 1 };

/** The parts that a timestamp has, from the coarsest, and the precision at which it has them. */
const precisions: readonly Precision[] = ["year", "month", "day", "minute", "second"];

/** The instants that a timestamp can be: the years 1 to 9999. */
const secondsMin = secondsOf(1, 1, 1, 0, 0, 0);
const secondsMax = secondsOf(9999, 12, 31, 23, 59, 59);

/** A part of a timestamp, in its own local time. */
export const extractPart = (part: DatePart, timestamp: Timestamp): Value => {
  const parts = localParts(timestamp);
  const { offsetMinutes, nanos, fractionDigits } = timestamp;
  if (part === "YEAR") return BigInt(parts.year);
  if (part === "MONTH") return BigInt(parts.month);
  if (part === "DAY") return BigInt(parts.day);
  if (part === "HOUR") return BigInt(parts.hour);
  if (part === "MINUTE") return BigInt(parts.minute);
  if (part === "TIMEZONE_HOUR") return BigInt(Math.trunc(offsetMinutes / 60));
  if (part === "TIMEZONE_MINUTE") return BigInt(offsetMinutes % 60);
  const whole = { unscaled: BigInt(parts.second), scale: 0 };
  if (fractionDigits === 0) return whole.unscaled;
  return addDecimals(whole, { unscaled: BigInt(nanos) / 10n ** BigInt(9 - fractionDigits), scale: fractionDigits });
};

/** The timestamp a number of parts later; a day that its month does not have becomes the month's last. */
export const addToDate = (part: DatePart, quantity: bigint, timestamp: Timestamp): Timestamp => {
  const { nanos, offsetMinutes, fractionDigits } = timestamp;
  const precision = finer(timestamp.precision, part);
  const count = Number(quantity);
  const seconds = partSeconds[part];
  const sum =
    seconds === undefined
      ? addMonths(timestamp, part === "YEAR" ? count * 12 : count)
      : timestamp.seconds + count * seconds;
  if (!(sum >= secondsMin && sum <= secondsMax))
    throw refusal("EVALUATOR_INVALID_ARGUMENTS", "The result of DATE_ADD is not between the years 1 and 9999.");
  return new Timestamp(sum, nanos, offsetMinutes, precision, fractionDigits);
};

/** How many whole parts lie between two timestamps; negative if the second is the earlier. */
export const dateDifference = (part: DatePart, from: Timestamp, to: Timestamp): bigint => {
  const seconds = partSeconds[part];
  if (seconds !== undefined) {
    const difference = to.seconds - from.seconds + (to.nanos - from.nanos) / 1e9;
    return BigInt(Math.trunc(difference / seconds));
  }
  const [start, end] = [localParts(from), localParts(new Timestamp(to.seconds, to.nanos, from.offsetMinutes))];
  let months = (end.year - start.year) * 12 + end.month - start.month;
  const reached = addMonths(from, months) + from.nanos / 1e9;
  const target = to.seconds + to.nanos / 1e9;
  if (months > 0 && reached > target) months -= 1;
  if (months < 0 && reached < target) months += 1;
  return BigInt(part === "YEAR" ? Math.trunc(months / 12) : months);
};

const addMonths = (timestamp: Timestamp, count: number): number => {
  const { year, month, day, hour, minute, second } = localParts(timestamp);
  const months = year * 12 + month - 1 + count;
  const [newYear, newMonth] = [Math.floor(months / 12), (((months % 12) + 12) % 12) + 1];
  const newDay = Math.min(day, daysOfMonth(newYear, newMonth));
  return secondsOf(newYear, newMonth, newDay, hour, minute, second) - timestamp.offsetMinutes * 60;
};

/** The finer one of a timestamp's precision and a part's. */
const finer = (precision: Precision, part: DatePart): Precision => {
  const named = part === "HOUR" ? "minute" : (part.toLowerCase() as Precision);
  return precisions.indexOf(named) > precisions.indexOf(precision) ? named : precision;
};
