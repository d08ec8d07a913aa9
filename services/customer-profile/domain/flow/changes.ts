import { limits } from "../../limits.ts";
import { numberOf, textOf } from "./field-value.ts";
import type { Step, TaskSettings } from "./working-record.ts";
import { destinationsOf, failed, TaskProblem, tooLarge } from "./working-record.ts";

/** A task that fills a field with what it makes of others: Merge, Mask, Truncate or Arithmetic. */
export const compileChange = (task: TaskSettings): Step => {
  if (task.type === "Merge") return compileMerge(task);
  if (task.type === "Arithmetic") return compileArithmetic(task);
  if (task.sources.length === 0 || (task.destination !== undefined && task.sources.length > 1))
    throw new TaskProblem(`a ${task.type} task has one source field for its destination`);
  const change = task.type === "Mask" ? maskOf(task) : truncationOf(task);
  const destinations = destinationsOf(task);
  return (record) => {
    for (const [index, source] of task.sources.entries()) {
      const text = textOf(record.read(source));
      if (text === undefined) continue;
      const changed = change(text);
      if (changed === undefined || !record.write(destinations[index] ?? source, changed)) return tooLarge();
    }
    return undefined;
  };
};

/** Undefined: the text would be too long. */
type ChangeText = (text: string) => string | undefined;

const maskOf = (task: TaskSettings): ChangeText => {
  const { operator = "MASK_ALL" } = task;
  if (!["MASK_ALL", "MASK_FIRST_N", "MASK_LAST_N"].includes(operator))
    throw new TaskProblem(`a Mask task has the operator ${operator}`);
  const mark = task.property("MASK_VALUE") ?? "*";
  const length = operator === "MASK_ALL" ? Number.POSITIVE_INFINITY : lengthOf(task, "MASK_LENGTH");
  return (text) => {
    const characters = Array.from(text);
    const count = Math.min(length, characters.length);
    if (count * mark.length > limits.flowResultCharactersMax) return undefined;
    const masked = mark.repeat(count);
    return operator === "MASK_LAST_N"
      ? characters.slice(0, characters.length - count).join("") + masked
      : masked + characters.slice(count).join("");
  };
};

const truncationOf = (task: TaskSettings): ChangeText => {
  refuseOperator(task);
  const length = lengthOf(task, "TRUNCATE_LENGTH");
  return (text) => (text.length <= length ? text : Array.from(text).slice(0, length).join(""));
};

const lengthOf = (task: TaskSettings, property: string): number => {
  const text = task.property(property) ?? "";
  if (!/^[0-9]{1,6}$/.test(text)) throw new TaskProblem(`a ${task.type} task has no ${property}`);
  return Number(text);
};

const reference = /\$\{([^{}]+)\}/g;

/** Fields that have no value are empty in the text. */
const compileMerge = (task: TaskSettings): Step => {
  refuseOperator(task);
  const { destination } = task;
  const format = task.property("CONCAT_FORMAT");
  if (destination === undefined) throw new TaskProblem("a Merge task has no destination field");
  if (format === undefined) throw new TaskProblem("a Merge task has no CONCAT_FORMAT");
  const parts = partsOf(format);
  return (record) => {
    let merged = "";
    for (const part of parts) {
      merged += typeof part === "string" ? part : (textOf(record.read(part.field)) ?? "");
      if (merged.length > limits.flowResultCharactersMax) return tooLarge();
    }
    return record.write(destination, merged) ? undefined : tooLarge();
  };
};

/** The texts of a format and the fields between them. */
const partsOf = (format: string): readonly (string | { readonly field: string })[] => {
  const parts: (string | { readonly field: string })[] = [];
  let at = 0;
  for (const { 0: whole, 1: field = "", index } of format.matchAll(reference)) {
    parts.push(format.slice(at, index), { field });
    at = index + whole.length;
  }
  return [...parts, format.slice(at)];
};

const operations: Readonly<Record<string, (a: number, b: number) => number>> = {
  ADDITION: (a, b) => a + b,
  SUBTRACTION: (a, b) => a - b,
  MULTIPLICATION: (a, b) => a * b,
  DIVISION: (a, b) => a / b,
};

/** Computes from left to right. A constant is the last operand. */
const compileArithmetic = (task: TaskSettings): Step => {
  const { operator = "", destination } = task;
  const operate = Object.hasOwn(operations, operator) ? operations[operator] : undefined;
  if (operate === undefined) throw new TaskProblem(`an Arithmetic task has the operator ${operator || "of no name"}`);
  if (destination === undefined) throw new TaskProblem("an Arithmetic task has no destination field");
  const order = task.property("MATH_OPERATION_FIELDS_ORDER");
  const fields = order === undefined ? task.sources : order.split(",").map((name) => name.trim());
  const constant = task.property("VALUE");
  const last = constant === undefined ? undefined : numberOf(constant);
  if (constant !== undefined && last === undefined)
    throw new TaskProblem("the VALUE of an Arithmetic task is no number");
  if (fields.length + (last === undefined ? 0 : 1) < 2) throw new TaskProblem("an Arithmetic task has one operand");
  return (record) => {
    const operands: number[] = [];
    for (const field of fields) {
      const operand = numberOf(record.read(field));
      if (operand === undefined) return failed(`the field ${field} is no number`);
      operands.push(operand);
    }
    const [first = 0, ...rest] = last === undefined ? operands : [...operands, last];
    const result = rest.reduce(operate, first);
    if (!Number.isFinite(result)) return failed(`the ${operator} of ${fields.join(", ")} has no result`);
    return record.write(destination, result) ? undefined : tooLarge();
  };
};

const refuseOperator = ({ type, operator = "NO_OP" }: TaskSettings): void => {
  if (operator !== "NO_OP") throw new TaskProblem(`a ${type} task has the operator ${operator}`);
};
