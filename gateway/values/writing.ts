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

/**
 * Writes one value of a field (or of a list's element) as text, for headers and XML; undefined if it has no spelling.
 * `format` is that of instants without a trait.
 */
export const valueToText = (
  field: FieldContract,
  value: unknown,
  format: TimestampFormat,
  spelling: DialectSpelling,
): string | undefined => {
  const { desc } = field;
  if (desc.enum !== undefined) return enumToText(desc.enum, value as number, spelling);
  if (isInstant(desc)) return instantToText(value as Timestamp, field.timestampFormat || format);
  if (desc.scalar === undefined) throw new Error(`${desc.name} is not a text`);
  if (desc.scalar === ScalarType.STRING) return stringToDialect(field, value as string, spelling);
  return scalarToText(desc.scalar, value);
};

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
