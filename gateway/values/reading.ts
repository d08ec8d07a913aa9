import { ScalarType } from "@bufbuild/protobuf";

import type { FieldContract } from "../../services/kit/contract/contract.ts";
import { enumViolation } from "../../services/kit/validation/validate.ts";
import type { Violation } from "../../services/kit/validation/wording.ts";
import { quoteValue } from "../../services/kit/validation/wording.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import { enumFromText, EnumTextError, instantFromText, isInstant, ScalarError, scalarFromText } from "./scalars.ts";

/** The dialect in which a request is read, and the violations found in it. */
export interface Reading {
  readonly spelling: DialectSpelling;
  /** Members whose text is not of their type. They stay unset; the request is refused with all of them at once. */
  readonly violations: Violation[];
}

/**
 * Reads one value of a field (or of a list's element) from its text. Returns undefined for a text that is not of the
 * field's type, and adds it to the violations.
 */
export const valueFromText = (field: FieldContract, text: string, path: string, reading: Reading): unknown => {
  try {
    return parse(field, text, reading.spelling);
  } catch (thrown) {
    if (!(thrown instanceof ScalarError)) throw thrown;
    reading.violations.push(violationOf(thrown, field, text, path, reading.spelling));
    return undefined;
  }
};

/** Whether the declared values of a field are spelled differently in the dialects, like `svc:kms`. */
export const hasDialectValues = (field: FieldContract): boolean =>
  field.constraints.oneOf.some(isDocumentedValue) ||
  (field.constraints.element?.oneOf.some(isDocumentedValue) ?? false);

const isDocumentedValue = (value: string): boolean => value.startsWith("svc:");

const parse = (field: FieldContract, text: string, spelling: DialectSpelling): unknown => {
  const enumeration = field.desc.enum;
  if (enumeration !== undefined) return enumFromText(enumeration, text, spelling, field.ignoresCase);
  const { scalar } = field.desc;
  if (scalar === undefined) {
    if (isInstant(field.desc)) return instantFromText(text);
    throw new Error(`${field.desc.name} is not a text`);
  }
  if (scalar === ScalarType.STRING && field.ignoresCase) return declaredText(field, text, spelling);
  if (scalar === ScalarType.STRING && hasDialectValues(field)) return spelling.documentedValue(text);
  return scalarFromText(scalar, text);
};

/** The declared spelling of a text whatever its case; a text that is not declared is left as it is. */
const declaredText = ({ constraints }: FieldContract, text: string, spelling: DialectSpelling): string => {
  const allowed = constraints.element?.oneOf ?? constraints.oneOf;
  const wanted = spelling.documentedValue(text.toLowerCase());
  return allowed.find((each) => each.toLowerCase() === wanted) ?? text;
};

const violationOf = (
  thrown: ScalarError,
  field: FieldContract,
  text: string,
  path: string,
  spelling: DialectSpelling,
): Violation => {
  const enumeration = field.desc.enum;
  if (thrown instanceof EnumTextError && enumeration !== undefined)
    return enumViolation(field, enumeration, path, text, spelling);
  const value = field.constraints.isSensitive ? undefined : quoteValue(text);
  return { path, field: field.desc.name, description: thrown.message, ...(value === undefined ? {} : { value }) };
};
