import type { FieldValue } from "./field-value.ts";
import { compareValues } from "./field-value.ts";
import type { Step, TaskSettings } from "./working-record.ts";
import { TaskProblem } from "./working-record.ts";

/** Whether a record passes, by how its value compares with each of the task's values; undefined: not at all. */
type Passes = (compared: readonly (number | undefined)[]) => boolean;

const anyIs =
  (holds: (compared: number) => boolean): Passes =>
  (compared) =>
    compared.some((each) => each !== undefined && holds(each));

/** The comparisons by their operators. */
const comparisons: Readonly<Record<string, Passes>> = {
  LESS_THAN: anyIs((compared) => compared < 0),
  LESS_THAN_OR_EQUAL_TO: anyIs((compared) => compared <= 0),
  GREATER_THAN: anyIs((compared) => compared > 0),
  GREATER_THAN_OR_EQUAL_TO: anyIs((compared) => compared >= 0),
  EQUAL_TO: anyIs((compared) => compared === 0),
  NOT_EQUAL_TO: (compared) => compared.every((each) => each !== 0),
};

/**
 * A Filter task: a projection, or a comparison, which leaves out the records whose field it does not hold for. With
 * several values, one of them must be equal, or none. A field without a value passes NOT_EQUAL_TO only.
 */
export const compileFilter = (task: TaskSettings): Step => {
  const { sources, operator = "PROJECTION" } = task;
  if (operator === "PROJECTION") {
    const names = new Set(sources);
    return (record) => {
      record.project(names);
      return undefined;
    };
  }
  const [source] = sources;
  if (source === undefined || sources.length > 1) throw new TaskProblem(`a Filter task compares one source field`);
  const passes = operator === "BETWEEN" ? passesBetween(task) : passesCompared(task, operator);
  return (record) => (passes(record.read(source) ?? undefined) ? undefined : { kind: "left-out" });
};

const passesCompared = (task: TaskSettings, operator: string) => {
  const holds = Object.hasOwn(comparisons, operator) ? comparisons[operator] : undefined;
  if (holds === undefined) throw new TaskProblem(`a Filter task has the operator ${operator}`);
  const dataType = task.property("DATA_TYPE") ?? "";
  const single = task.property("VALUE");
  const values = single === undefined ? (task.property("VALUES")?.split(",") ?? []) : [single];
  if (values.length === 0) throw new TaskProblem(`a Filter task with ${operator} has no VALUE`);
  return (value: FieldValue | undefined): boolean =>
    holds(values.map((each) => (value === undefined ? undefined : compareValues(value, each, dataType))));
};

/** Both bounds are inside. */
const passesBetween = (task: TaskSettings) => {
  const [lower, upper] = [task.property("LOWER_BOUND"), task.property("UPPER_BOUND")];
  if (lower === undefined || upper === undefined)
    throw new TaskProblem("a Filter task with BETWEEN has no LOWER_BOUND and UPPER_BOUND");
  const dataType = task.property("DATA_TYPE") ?? "";
  return (value: FieldValue | undefined): boolean => {
    if (value === undefined) return false;
    const [low, high] = [compareValues(value, lower, dataType), compareValues(value, upper, dataType)];
    return low !== undefined && high !== undefined && low >= 0 && high <= 0;
  };
};
