import { Cron } from "croner";
import { describe, expect, test } from "vitest";

import { nextRun, parseSchedule } from "../../../services/kit/schedule/schedule.ts";
import type { SeededRandom } from "../store/seeded-random.ts";
import { seededRandom } from "../store/seeded-random.ts";
import { rounds } from "../../support/rounds.ts";

/*
 * Expressions of the part of the dialect that a library knows too are generated from a seed, and the first runs after a
 * generated instant compared with the library's. What it does not know is in schedule.test.ts: ranges across the end of
 * a field, `L-n`, and `LW` in a list.
 */

/** One field: how the service reads it, and how the library. They differ only where a value has a step. */
interface Spelling {
  readonly own: string;
  readonly library: string;
}

interface Field {
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const minutes: Field = { min: 0, max: 59 };
const hours: Field = { min: 0, max: 23 };
const days: Field = { min: 1, max: 31 };
const months: Field = {
  min: 1,
  max: 12,
  names: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
};
const weekdays: Field = { min: 1, max: 7, names: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"] };
const years: Field = { min: 2020, max: 2080 };

const same = (text: string): Spelling => ({ own: text, library: text });

const between = (random: SeededRandom, min: number, max: number): number => min + random.below(max - min + 1);

/** A value as a number or, where it has one, by its name in any case. */
const spelled = (random: SeededRandom, field: Field, value: number): string => {
  const name = field.names?.[value - field.min];
  if (name === undefined || random.chance(0.5)) return `${value}`;
  return random.pick([name, name.toLowerCase(), name.charAt(0) + name.slice(1).toLowerCase()]);
};

const itemOf = (random: SeededRandom, field: Field): Spelling => {
  const from = between(random, field.min, field.max);
  const to = between(random, from, field.max);
  const step = between(random, 1, Math.max(1, (field.max - field.min) >> 1));
  const first = spelled(random, field, from);
  return random.pick([
    () => same(first),
    () => same(first),
    () => same(`${first}-${spelled(random, field, to)}`),
    () => same(`${first}-${spelled(random, field, to)}/${step}`),
    // The library's years begin with 1.
    () => ({ own: `*/${step}`, library: field === years ? `1970-2199/${step}` : `*/${step}` }),
    // A value with a step runs to the end of its field; the library wants the end written.
    () => ({ own: `${first}/${step}`, library: `${first}-${field === years ? 2199 : field.max}/${step}` }),
  ])();
};

const listOf = (random: SeededRandom, item: () => Spelling): Spelling => {
  const items = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, item);
  return { own: items.map(({ own }) => own).join(), library: items.map(({ library }) => library).join() };
};

const fieldOf = (random: SeededRandom, field: Field): Spelling =>
  random.chance(0.3) ? same("*") : listOf(random, () => itemOf(random, field));

const daysOf = (random: SeededRandom): Spelling => {
  if (random.chance(0.1)) return same("LW");
  return listOf(random, () =>
    random.pick([
      () => itemOf(random, days),
      () => itemOf(random, days),
      () => same("L"),
      () => same(`${between(random, 1, 31)}W`),
    ])(),
  );
};

const weekdaysOf = (random: SeededRandom): Spelling => {
  const weekday = (): string => spelled(random, weekdays, between(random, 1, 7));
  if (random.chance(0.2)) return same(`${weekday()}#${between(random, 1, 5)}`);
  return listOf(random, () =>
    random.pick([
      () => itemOf(random, weekdays),
      () => itemOf(random, weekdays),
      () => same(`${between(random, 1, 7)}L`),
      () => ({ own: "L", library: "7" }),
    ])(),
  );
};

/** Six fields, one of the two for days being `?`. */
const fieldsOf = (random: SeededRandom): Spelling[] => {
  const byDay = random.chance(0.5);
  return [
    fieldOf(random, minutes),
    fieldOf(random, hours),
    byDay ? daysOf(random) : same("?"),
    fieldOf(random, months),
    byDay ? same("?") : weekdaysOf(random),
    random.chance(0.7) ? same("*") : fieldOf(random, years),
  ];
};

const ownExpression = (fields: readonly Spelling[]): string => `cron(${fields.map(({ own }) => own).join(" ")})`;

const libraryOf = (fields: readonly Spelling[]): Cron =>
  new Cron(`0 ${fields.map(({ library }) => library).join(" ")}`, {
    mode: "7-part",
    alternativeWeekdays: true,
    timezone: "UTC",
    paused: true,
  });

const runsPerExpression = 3;

const ownRuns = (expression: string, fromMs: number): string[] | undefined => {
  const schedule = parseSchedule(expression);
  if (schedule === undefined) return undefined;
  const found: string[] = [];
  for (let atMs: number | undefined = fromMs; found.length < runsPerExpression;) {
    atMs = nextRun(schedule, fromMs, atMs);
    if (atMs === undefined) break;
    found.push(new Date(atMs).toISOString());
  }
  return found;
};

/** The library's runs up to the last year of the dialect. */
const libraryRuns = (fields: readonly Spelling[], fromMs: number): string[] =>
  libraryOf(fields)
    .nextRuns(runsPerExpression, new Date(fromMs))
    .map((run) => run.toISOString())
    .filter((run) => run < "2200");

const isKnownToLibrary = (fields: readonly Spelling[]): boolean => {
  try {
    libraryOf(fields);
    return true;
  } catch {
    return false;
  }
};

describe("cron expressions", () => {
  test("run when a library runs them", { timeout: 600_000 }, () => {
    const count = rounds(3_000, 100_000);
    const differences: unknown[] = [];
    let runs = 0;
    for (let seed = 1; seed <= count; seed += 1) {
      const random = seededRandom(seed);
      const fields = fieldsOf(random);
      const expression = ownExpression(fields);
      const fromMs = Date.UTC(2020, 0, 1) + random.below(40 * 366 * 86_400) * 1_000;
      const own = ownRuns(expression, fromMs);
      const library = libraryRuns(fields, fromMs);
      runs += library.length;
      if (JSON.stringify(own) !== JSON.stringify(library))
        differences.push({ seed, expression, from: new Date(fromMs).toISOString(), own, library });
    }
    expect(differences).toEqual([]);
    expect(runs).toBeGreaterThan(count * 2);
  });

  test("with one wrong field are refused where a library refuses them", () => {
    const wrong: readonly (readonly [place: number, text: string])[] = [
      [0, "60"],
      [0, "5-60"],
      [0, "*/0"],
      [0, "a"],
      [0, ""],
      [0, "1,,2"],
      [0, "1-2-3"],
      [0, "-1"],
      [1, "24"],
      [1, "7-"],
      [1, "*/"],
      [2, "0"],
      [2, "32"],
      [2, "32W"],
      [2, "W"],
      [2, "LL"],
      [3, "0"],
      [3, "13"],
      [3, "JANUAR"],
      [4, "0"],
      [4, "MONDAY"],
      [4, "2#6"],
      [4, "2#0"],
      [4, "#2"],
      [5, "x"],
    ];
    const accepted: unknown[] = [];
    for (let seed = 1; seed <= 500; seed += 1) {
      const random = seededRandom(seed);
      const fields = fieldsOf(random);
      const [place, text] = random.pick(wrong);
      fields[place] = same(text);
      if (place === 2) fields[4] = same("?");
      if (place === 4) fields[2] = same("?");
      const isOwn = parseSchedule(ownExpression(fields)) !== undefined;
      if (isOwn || isKnownToLibrary(fields)) accepted.push({ seed, place, text, isOwn });
    }
    expect(accepted).toEqual([]);
  });
});
