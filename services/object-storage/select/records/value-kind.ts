import type { RecordKind } from "../query-run.ts";
import { refusal, shown } from "../refusal.ts";
import type { PathStep } from "../sql/syntax.ts";
import type { Structure, Value } from "../values/value.ts";

/** Records that are values of JSON or Parquet. What a path does not find is missing. */
export const valueKind: RecordKind<Value> = {
  resolve: (steps) => (record) => {
    let value = record;
    for (const step of steps) value = memberOf(value, step);
    return value;
  },
  whole: (record) => {
    if (record instanceof Map) return { names: [...record.keys()], values: [...record.values()] };
    return { names: ["_1"], values: [record] };
  },
  verbatim: () => undefined,
};

/** Throws AMBIGUOUS_FIELD_NAME. */
const memberOf = (value: Value, step: PathStep): Value => {
  if (step.kind === "index") return Array.isArray(value) ? (value as readonly Value[])[step.index] : undefined;
  if (step.kind !== "name" || !(value instanceof Map)) return undefined;
  const structure: Structure = value;
  if (step.isQuoted || structure.has(step.name)) return structure.get(step.name);
  const name = step.name.toLowerCase();
  const alike = [...structure.keys()].filter((each) => each.toLowerCase() === name);
  if (alike.length > 1) throw refusal("AMBIGUOUS_FIELD_NAME", shown(step.name));
  return alike[0] === undefined ? undefined : structure.get(alike[0]);
};
