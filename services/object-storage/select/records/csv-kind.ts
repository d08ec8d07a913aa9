import type { RecordKind } from "../query-run.ts";
import { refusal, shown } from "../refusal.ts";
import type { PathStep } from "../sql/syntax.ts";
import type { CsvRecord } from "./csv-reader.ts";
import { columnsMax } from "./record-limits.ts";

/** The names of columns without a header: `_1`, `_2`, ... */
const positions: string[] = [];
const positionName = (index: number): string => (positions[index] ??= `_${index + 1}`);

/**
 * Records of separated values whose columns have names, or, if they have none, positions. A column is also found by its
 * position. Its resolver throws INVALID_KEY_PATH, INVALID_COLUMN_INDEX, MISSING_HEADERS and AMBIGUOUS_FIELD_NAME.
 */
export const csvKind = (names: readonly string[] | undefined): RecordKind<CsvRecord> => {
  const whole = (record: CsvRecord) => {
    const values = Array.from({ length: record.fieldCount }, (_each, index) => record.field(index));
    return { names: values.map((_value, index) => names?.[index] ?? positionName(index)), values };
  };
  return {
    resolve: (steps) => {
      const [step, ...more] = steps;
      if (step === undefined)
        return (record) => {
          const { names: keys, values } = whole(record);
          return new Map(keys.map((key, index) => [key, values[index]]));
        };
      if (step.kind !== "name" || more.length > 0)
        throw refusal("INVALID_KEY_PATH", "a column of separated values has no members");
      const index = columnOf(step, names);
      return (record) => record.field(index);
    },
    whole,
    verbatim: (record) => record.verbatim(),
  };
};

const columnOf = (step: PathStep & { readonly kind: "name" }, names: readonly string[] = []): number => {
  const exact = names.indexOf(step.name);
  if (exact !== -1) return exact;
  const name = step.name.toLowerCase();
  const alike = step.isQuoted ? [] : names.flatMap((each, index) => (each.toLowerCase() === name ? [index] : []));
  if (alike.length > 1) throw refusal("AMBIGUOUS_FIELD_NAME", shown(step.name));
  const [only] = alike;
  if (only !== undefined) return only;
  if (!/^_[0-9]+$/.test(name)) throw refusal("MISSING_HEADERS", shown(step.name));
  const position = Number(name.slice(1));
  if (position < 1 || position > columnsMax) throw refusal("INVALID_COLUMN_INDEX", shown(step.name));
  return position - 1;
};
