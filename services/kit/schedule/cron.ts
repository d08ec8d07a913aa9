/**
 * A cron expression has six fields: minutes, hours, day of the month, month, day of the week (1 is Sunday), year; in
 * UTC. Exactly one of the two day fields is `?`. Lists, ranges, steps and names are allowed in all fields; `L`, `L-n`,
 * `LW` and `nW` for days of the month; `L`, `nL` and one `n#m` for days of the week.
 */
export interface CronSchedule {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly months: ReadonlySet<number>;
  readonly years: ReadonlySet<number>;
  /** The days of a month (1 to 31) on which it runs; days after the month's last one are ignored. */
  readonly daysOf: (month: Month) => readonly number[];
}

/** The facts of a month on which its days depend. */
interface Month {
  /** The number of its days. */
  readonly length: number;
  /** The day of the week of its first day, 1 to 7 from Sunday. */
  readonly firstWeekday: number;
}

interface Field {
  readonly min: number;
  readonly max: number;
  readonly names: readonly string[];
}

const monthNames = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const dayNames = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const minuteField: Field = { min: 0, max: 59, names: [] };
const hourField: Field = { min: 0, max: 23, names: [] };
const dayField: Field = { min: 1, max: 31, names: [] };
const monthField: Field = { min: 1, max: 12, names: monthNames };
const weekdayField: Field = { min: 1, max: 7, names: dayNames };
const yearField: Field = { min: 1970, max: 2199, names: [] };

/** Parses the six fields. Undefined if they are not a cron expression. */
export const parseCron = (fields: readonly string[]): CronSchedule | undefined => {
  const [minute = "", hour = "", day = "", month = "", weekday = "", year = ""] = fields;
  if (fields.length !== 6 || (day === "?") === (weekday === "?")) return undefined;
  const minutes = parseList(minute, minuteField);
  const hours = parseList(hour, hourField);
  const months = parseList(month, monthField);
  const years = parseList(year, yearField);
  const daysOf = day === "?" ? parseWeekdays(weekday) : parseDays(day);
  if (!minutes || !hours || !months || !years || !daysOf) return undefined;
  return { minutes, hours, months: new Set(months), years: new Set(years), daysOf };
};

/** The first run after an instant, both in milliseconds since 1970. Undefined if no run follows. */
export const nextCronRun = (cron: CronSchedule, afterMs: number): number | undefined => {
  const start = new Date(Math.floor(afterMs / 60_000) * 60_000 + 60_000);
  for (let year = start.getUTCFullYear(); year <= yearField.max; year += 1) {
    if (!cron.years.has(year)) continue;
    for (let month = 1; month <= 12; month += 1) {
      if (!cron.months.has(month) || Date.UTC(year, month, 1) <= start.getTime()) continue;
      const found = runInMonth(cron, year, month, start.getTime());
      if (found !== undefined) return found;
    }
  }
  return undefined;
};

const runInMonth = (cron: CronSchedule, year: number, month: number, fromMs: number): number | undefined => {
  const length = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const firstWeekday = new Date(Date.UTC(year, month - 1, 1)).getUTCDay() + 1;
  const days = [...new Set(cron.daysOf({ length, firstWeekday }))].filter((day) => day >= 1 && day <= length);
  for (const day of days.toSorted((a, b) => a - b)) {
    if (Date.UTC(year, month - 1, day + 1) <= fromMs) continue;
    for (const hour of cron.hours)
      for (const minute of cron.minutes) {
        const atMs = Date.UTC(year, month - 1, day, hour, minute);
        if (atMs >= fromMs) return atMs;
      }
  }
  return undefined;
};

/** A field's values in ascending order. Undefined if the text is not a list of the field's values. */
const parseList = (text: string, field: Field): number[] | undefined => {
  const values = new Set<number>();
  for (const part of text.split(",")) {
    const found = parseItem(part, field);
    if (found === undefined) return undefined;
    for (const value of found) values.add(value);
  }
  return [...values].toSorted((a, b) => a - b);
};

const itemShape = /^(?:(\*)|([A-Za-z0-9]+)(?:-([A-Za-z0-9]+))?)(?:\/([0-9]+))?$/;

const parseItem = (text: string, field: Field): number[] | undefined => {
  const [whole, star, first, last, stepText] = itemShape.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const step = stepText === undefined ? 1 : Number(stepText);
  if (step < 1) return undefined;
  const from = star === undefined ? parseValue(first ?? "", field) : field.min;
  // A single value with a step means a range to the end of the field.
  const isOpen = star !== undefined || (last === undefined && stepText !== undefined);
  const to = isOpen ? field.max : last === undefined ? from : parseValue(last, field);
  if (from === undefined || to === undefined) return undefined;
  const values: number[] = [];
  const size = field.max - field.min + 1;
  const length = to >= from ? to - from : to - from + size;
  if (to < from && field === yearField) return undefined;
  for (let offset = 0; offset <= length; offset += step) values.push(field.min + ((from - field.min + offset) % size));
  return values;
};

const parseValue = (text: string, field: Field): number | undefined => {
  const named = field.names.indexOf(text.toUpperCase());
  if (named !== -1) return field.min + named;
  if (!/^[0-9]+$/.test(text)) return undefined;
  const value = Number(text);
  return value >= field.min && value <= field.max ? value : undefined;
};

type DaysOf = CronSchedule["daysOf"];

const parseDays = (text: string): DaysOf | undefined => {
  const parts = text.split(",").map(parseDayItem);
  if (!parts.every((part) => part !== undefined)) return undefined;
  return (month) => parts.flatMap((part) => part(month));
};

const parseDayItem = (text: string): DaysOf | undefined => {
  const [fromLast, before] = /^L(?:-([0-9]{1,2}))?$/.exec(text) ?? [];
  if (fromLast !== undefined)
    return Number(before ?? 0) > 30 ? undefined : ({ length }) => [length - Number(before ?? 0)];
  if (text === "LW") return (month) => [nearestWorkday(month, month.length)];
  const workday = /^([0-9]{1,2})W$/.exec(text)?.[1];
  if (workday !== undefined) {
    const day = parseValue(workday, dayField);
    return day === undefined ? undefined : (month) => (day > month.length ? [] : [nearestWorkday(month, day)]);
  }
  const days = parseItem(text, dayField);
  return days === undefined ? undefined : () => days;
};

const parseWeekdays = (text: string): DaysOf | undefined => {
  const nth = /^([A-Za-z0-9]+)#([1-5])$/.exec(text);
  if (nth !== null) {
    const weekday = parseValue(nth[1] ?? "", weekdayField);
    return weekday === undefined ? undefined : (month) => [firstOf(month, weekday) + (Number(nth[2]) - 1) * 7];
  }
  const parts = text.split(",").map(parseWeekdayItem);
  if (!parts.every((part) => part !== undefined)) return undefined;
  return (month) => parts.flatMap((part) => part(month));
};

const parseWeekdayItem = (text: string): DaysOf | undefined => {
  if (text === "L") return (month) => everyWeek(month, 7);
  const last = /^([A-Za-z0-9]+)L$/.exec(text)?.[1];
  if (last !== undefined) {
    const weekday = parseValue(last, weekdayField);
    return weekday === undefined ? undefined : (month) => everyWeek(month, weekday).slice(-1);
  }
  const weekdays = parseItem(text, weekdayField);
  return weekdays === undefined ? undefined : (month) => weekdays.flatMap((weekday) => everyWeek(month, weekday));
};

/** The first day of the month that is this day of the week. */
const firstOf = (month: Month, weekday: number): number => 1 + ((weekday - month.firstWeekday + 7) % 7);

const everyWeek = (month: Month, weekday: number): number[] => {
  const days: number[] = [];
  for (let day = firstOf(month, weekday); day <= month.length; day += 7) days.push(day);
  return days;
};

/** The day from Monday to Friday of the same month that is nearest to a day. */
const nearestWorkday = (month: Month, day: number): number => {
  const weekday = ((month.firstWeekday - 1 + day - 1) % 7) + 1;
  if (weekday === 7) return day === 1 ? day + 2 : day - 1;
  if (weekday === 1) return day === month.length ? day - 2 : day + 1;
  return day;
};
