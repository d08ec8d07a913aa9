import { ScalarType } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";

import { TimestampFormat } from "../../gen/quartet/traits/v1/binding_pb.ts";
import type { FieldContract } from "../../services/kit/contract/contract.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import { hasDialectValues } from "./reading.ts";
import { enumToText, instantToText, isInstant, scalarToText } from "./scalars.ts";

/** A string in the dialect: `svc:kms` in a field that declares such values, and the partition of ARNs. */
export const stringToDialect = (field: FieldContract, value: string, spelling: DialectSpelling): string => {
  if (holdsArn(field)) return spelling.arn(value);
  return hasDialectValues(field) ? spelling.value(value) : value;
};

/** Writes a value of a field (or of a list's element) as text, for headers and XML; undefined if it has no spelling. */
export const valueToText = (
  field: FieldContract,
  value: unknown,
  format: TimestampFormat,
  spelling: DialectSpelling,
): string | undefined => textWriter(field, format, spelling)(value);

type TextWriter = (value: unknown) => string | undefined;

/** The writer of a field's values in a dialect. `format` is that of instants without a trait. */
export const textWriter = (field: FieldContract, format: TimestampFormat, spelling: DialectSpelling): TextWriter => {
  const { desc } = field;
  const { enum: enumeration, scalar } = desc;
  if (enumeration !== undefined) return (value) => enumToText(enumeration, value as number, spelling);
  if (isInstant(desc)) return (value) => instantToText(value as Timestamp, field.timestampFormat || format);
  if (scalar === undefined) throw new Error(`${desc.name} is not a text`);
  if (scalar !== ScalarType.STRING) return (value) => scalarToText(scalar, value);
  if (holdsArn(field)) return (value) => spelling.arn(value as string);
  return hasDialectValues(field) ? (value) => spelling.value(value as string) : (value) => value as string;
};

/** Whether the texts of a field are the same in all dialects. */
export const isWrittenAsItIs = (field: FieldContract): boolean => !holdsArn(field) && !hasDialectValues(field);

const arnFields = new WeakMap<FieldContract, boolean>();

/** Whether the field holds ARNs, by its name. */
const holdsArn = (field: FieldContract): boolean => {
  let holds = arnFields.get(field);
  if (holds === undefined) {
    holds = /(?:^|_)arns?$/.test(field.desc.name);
    arnFields.set(field, holds);
  }
  return holds;
};
