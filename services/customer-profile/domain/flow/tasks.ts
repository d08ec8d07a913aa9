/**
 * The tasks of a flow from a bucket. They act on each record in their order. A task reads a field of the result if one
 * before it has filled it, else of the source, as far as the projections before it let it; a name with dots leads into
 * objects where no field has the whole name. What they fill is the result, less what only a later Map task reads.
 * Without a task that fills a field, the result is the source, as projected.
 */
import type { Task } from "../../../../gen/quartet/customerprofile/v1/integration_pb.ts";
import { limits } from "../../limits.ts";
import { compileChange } from "./changes.ts";
import { compileCheck } from "./checks.ts";
import type { FieldValue, FlowRecord } from "./field-value.ts";
import { exactNumberOf, isBoolean, isNested, isNumeric, jsonOfRecord, textOf } from "./field-value.ts";
import { compileFilter } from "./filters.ts";
import type { RecordOutcome, Step, TaskSettings } from "./working-record.ts";
import { destinationsOf, failed, TaskProblem, tooLarge, WorkingRecord } from "./working-record.ts";

/** What the tasks of a flow do with a record that was read from so many characters. */
export type FlowTasks = (record: FlowRecord, characters: number) => RecordOutcome;

/** Throws TaskProblem. */
export const compileTasks = (tasks: readonly Task[]): FlowTasks => {
  const settings = tasks.map(settingsOf);
  const steps = settings.map(compileTask);
  const isFilled = settings.some(({ type }) => !["Filter", "Validate"].includes(type));
  const intermediate = intermediateFields(settings);
  return (source, characters) => {
    const record = new WorkingRecord(source, characters);
    for (const step of steps) {
      const outcome = step(record);
      if (outcome !== undefined) return outcome;
    }
    const text = jsonOfRecord(record.result(isFilled, intermediate));
    return text.length > limits.objectCharactersMax
      ? failed(`the object has more than ${limits.objectCharactersMax} characters`)
      : { kind: "object", text };
  };
};

const settingsOf = (task: Task): TaskSettings => ({
  type: task.taskType,
  operator: task.connectorOperator?.s3,
  sources: task.sourceFields,
  destination: task.destinationField === "" ? undefined : task.destinationField,
  property: (name) => (Object.hasOwn(task.taskProperties, name) ? task.taskProperties[name] : undefined),
});

/** The fields that a task fills for a later Map task, which copies them to others. */
const intermediateFields = (tasks: readonly TaskSettings[]): ReadonlySet<string> => {
  const mapped = new Set(tasks.filter(({ type }) => type === "Map").flatMap(destinationsOf));
  const found = new Set<string>();
  for (const [index, task] of tasks.entries()) {
    if (["Map", "Filter", "Validate"].includes(task.type)) continue;
    const later = tasks.slice(index + 1).filter(({ type }) => type === "Map");
    for (const name of destinationsOf(task))
      if (!mapped.has(name) && later.some(({ sources }) => sources.includes(name))) found.add(name);
  }
  return found;
};

const compileTask = (task: TaskSettings): Step => {
  switch (task.type) {
    case "Filter":
      return compileFilter(task);
    case "Validate":
      return compileCheck(task);
    case "Map":
      return compileMap(task);
    default:
      return compileChange(task);
  }
};

const compileMap = (task: TaskSettings): Step => {
  if ((task.operator ?? "NO_OP") !== "NO_OP") throw new TaskProblem(`a Map task has the operator ${task.operator}`);
  if (task.sources.length === 0 || (task.destination !== undefined && task.sources.length > 1))
    throw new TaskProblem("a Map task has one source field for its destination");
  const dataType = task.property("DESTINATION_DATA_TYPE") ?? "";
  const destinations = destinationsOf(task);
  return (record) => {
    for (const [index, source] of task.sources.entries()) {
      const value = record.read(source);
      if (value === undefined || value === null) continue;
      const converted = convert(value, dataType);
      if (converted === undefined) return failed(`the field ${source} is no ${dataType}`);
      if (!record.write(destinations[index] ?? source, converted)) return tooLarge();
    }
    return undefined;
  };
};

/** A value of a data type; undefined: the value is none. */
const convert = (value: FieldValue, dataType: string): FieldValue | undefined => {
  if (isNumeric(dataType)) return exactNumberOf(value);
  if (!isBoolean(dataType)) return /^string$/i.test(dataType) && !isNested(value) ? textOf(value) : value;
  const text = textOf(value)?.trim().toLowerCase();
  return text === "true" || text === "false" ? text === "true" : undefined;
};
