import type { DescField } from "@bufbuild/protobuf";
import { hasOption } from "@bufbuild/protobuf";

import type { Element } from "../../../gen/quartet/traits/v1/constraint_pb.ts";
import {
  element,
  idempotency_token,
  key,
  length,
  one_of,
  pattern,
  range,
  required,
  sensitive,
  unique_items,
} from "../../../gen/quartet/traits/v1/constraint_pb.ts";
import { readOption } from "./options.ts";

/** The constraints of a text. Bounds are inclusive; undefined: none. */
export interface TextConstraints {
  readonly lengthMin: number | undefined;
  readonly lengthMax: number | undefined;
  /** As declared; the whole text must match. */
  readonly pattern: string | undefined;
  /** The allowed texts; empty: any. */
  readonly oneOf: readonly string[];
}

/** The constraints of a member, as declared by traits. */
export interface FieldConstraints extends TextConstraints {
  readonly isRequired: boolean;
  readonly isSensitive: boolean;
  readonly isIdempotencyToken: boolean;
  readonly hasUniqueItems: boolean;
  readonly rangeMin: bigint | undefined;
  readonly rangeMax: bigint | undefined;
  /** The constraints of each element of a list or value of a map. */
  readonly element: TextConstraints | undefined;
  /** The constraints of each key of a map. */
  readonly key: TextConstraints | undefined;
}

/** Reads the constraint traits of a field. */
export const readConstraints = (field: DescField): FieldConstraints => {
  const bounds = hasOption(field, length) ? readOption(field, length) : undefined;
  const numbers = hasOption(field, range) ? readOption(field, range) : undefined;
  return {
    isRequired: readOption(field, required),
    isSensitive: readOption(field, sensitive),
    isIdempotencyToken: readOption(field, idempotency_token),
    hasUniqueItems: readOption(field, unique_items),
    lengthMin: optionalNumber(bounds?.min),
    lengthMax: optionalNumber(bounds?.max),
    pattern: readOption(field, pattern) || undefined,
    oneOf: readOption(field, one_of),
    rangeMin: numbers?.min,
    rangeMax: numbers?.max,
    element: hasOption(field, element) ? elementConstraints(readOption(field, element)) : undefined,
    key: hasOption(field, key) ? elementConstraints(readOption(field, key)) : undefined,
  };
};

const elementConstraints = (declared: Element): TextConstraints => ({
  lengthMin: optionalNumber(declared.length?.min),
  lengthMax: optionalNumber(declared.length?.max),
  pattern: declared.pattern || undefined,
  oneOf: declared.oneOf,
});

const optionalNumber = (value: bigint | undefined): number | undefined =>
  value === undefined ? undefined : Number(value);
