import type { FieldValue } from "./field-value.ts";
import { numberOf } from "./field-value.ts";
import type { Step, TaskSettings } from "./working-record.ts";
import { TaskProblem } from "./working-record.ts";

/** Whether a value is as a Validate task wants it. A value that is missing is missing, and nothing else. */
const validations: Readonly<Record<string, (value: FieldValue | undefined) => boolean>> = {
  VALIDATE_NON_NULL: (value) => value !== undefined && value !== "",
  VALIDATE_NON_ZERO: (value) => numberOf(value) !== 0,
  VALIDATE_NON_NEGATIVE: (value) => (numberOf(value) ?? 0) >= 0,
  VALIDATE_NUMERIC: (value) => value === undefined || numberOf(value) !== undefined,
};

/** A Validate task, which leaves out the records that are not as it wants them, or ends the run at the first. */
export const compileCheck = (task: TaskSettings): Step => {
  const { operator = "", sources } = task;
  const isValid = Object.hasOwn(validations, operator) ? validations[operator] : undefined;
  if (isValid === undefined) throw new TaskProblem(`a Validate task has the operator ${operator || "of no name"}`);
  if (sources.length === 0) throw new TaskProblem("a Validate task has no source field");
  const action = (task.property("VALIDATION_ACTION") ?? "DropRecord").toLowerCase();
  if (action !== "droprecord" && action !== "terminateflow")
    throw new TaskProblem("the VALIDATION_ACTION of a Validate task is neither DropRecord nor TerminateFlow");
  return (record) => {
    const broken = sources.find((source) => !isValid(record.read(source) ?? undefined));
    if (broken === undefined) return undefined;
    if (action === "droprecord") return { kind: "left-out" };
    return { kind: "ended", reason: `the field ${broken} of a record does not pass ${operator}` };
  };
};
