import type { DescEnum, DescField } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";

import { TimestampFormat } from "../../gen/quartet/traits/v1/binding_pb.ts";
import { isInstant } from "../../gateway/values/scalars.ts";
import type { TextConstraints } from "../../services/kit/contract/constraints.ts";
import type { FieldContract } from "../../services/kit/contract/contract.ts";
import { enumSpellings } from "../../services/kit/contract/spellings.ts";
import { canonicalPattern } from "./canonical-pattern.ts";
import type { MemberFacts, ValueFacts } from "./model.ts";

/** Takes what differs in one value. */
export type Say = (text: string) => unknown;

export const kindOf = (desc: DescField): string => {
  if (desc.fieldKind === "list" || desc.fieldKind === "map") return desc.fieldKind;
  if (desc.fieldKind === "enum") return "string";
  if (desc.fieldKind === "message") return isInstant(desc) ? "timestamp" : "structure";
  return scalarKinds[desc.scalar] ?? "integer";
};

const scalarKinds: Readonly<Partial<Record<ScalarType, string>>> = {
  [ScalarType.STRING]: "string",
  [ScalarType.BYTES]: "blob",
  [ScalarType.BOOL]: "boolean",
  [ScalarType.DOUBLE]: "double",
  [ScalarType.FLOAT]: "float",
  [ScalarType.INT64]: "long",
  [ScalarType.UINT64]: "long",
};

export const isKind = (declared: string, expected: string): boolean =>
  declared === expected ||
  (declared === "long" && expected === "integer") ||
  (declared === "double" && expected === "float");

export const isFormat = (field: FieldContract, facts: MemberFacts): boolean => {
  const formats: Readonly<Record<string, readonly TimestampFormat[]>> = {
    iso8601: [TimestampFormat.DATE_TIME, TimestampFormat.DATE_TIME_OF_SECOND],
    rfc822: [TimestampFormat.HTTP_DATE],
    unixTimestamp: [TimestampFormat.EPOCH_SECONDS],
  };
  const byPlace = facts.in === "header" ? TimestampFormat.HTTP_DATE : TimestampFormat.DATE_TIME;
  return formats[facts.format ?? ""]?.includes(field.timestampFormat || byPlace) === true;
};

interface Bounds {
  readonly min: number | undefined;
  readonly max: number | undefined;
}

export const boundsOf = (field: FieldContract, declared: FieldContract): Bounds => {
  const { rangeMin, rangeMax } = field.constraints;
  if (rangeMin !== undefined || rangeMax !== undefined) return { min: asNumber(rangeMin), max: asNumber(rangeMax) };
  const own = field.constraints;
  const outer = declared.constraints;
  const least = outer.isRequired && isCounted(kindOf(field.desc)) ? 1 : undefined;
  return { min: own.lengthMin ?? outer.lengthMin ?? least, max: own.lengthMax ?? outer.lengthMax };
};

/** A text that is required is at least one character long here, and a required list or map has an entry. */
export const withNeed = (facts: MemberFacts): Bounds =>
  facts.required === true && facts.min === undefined && isCounted(facts.type)
    ? { min: 1, max: facts.max }
    : { min: facts.min, max: facts.max };

const isCounted = (kind: string): boolean => ["string", "list", "map"].includes(kind);

const asNumber = (value: bigint | undefined): number | undefined => (value === undefined ? undefined : Number(value));

export const textBounds = (texts: TextConstraints | undefined): Bounds => ({
  min: texts?.lengthMin,
  max: texts?.lengthMax,
});

export const compareBounds = (facts: Pick<ValueFacts, "min" | "max">, declared: Bounds, say: Say): void => {
  if ((facts.min ?? 0) !== (declared.min ?? 0))
    say(`has the least ${facts.min ?? "none"}, declared ${declared.min ?? "none"}`);
  if (facts.max !== declared.max) say(`has the most ${facts.max ?? "none"}, declared ${declared.max ?? "none"}`);
};

export const compareTexts = (
  facts: ValueFacts,
  declaredEnum: DescEnum | undefined,
  declared: TextConstraints | undefined,
  isInput: boolean,
  say: Say,
): void => {
  if (isInput) {
    const pattern = canonicalPattern(facts.pattern);
    const own = canonicalPattern(declared?.pattern);
    if (pattern !== own) say(`has the pattern ${pattern ?? "none"}, declared ${own ?? "none"}`);
  }
  const spelled =
    declaredEnum === undefined
      ? declared?.oneOf
      : enumSpellings(declaredEnum).values.map(({ publicValue }) => publicValue);
  if (spelled === undefined || spelled.length === 0) {
    if (isInput && facts.enum !== undefined) say("has an enumeration, declared as any text");
    return;
  }
  if (facts.enum === undefined) {
    if (isInput) say(`is any text, declared as one of ${spelled.join(", ")}`);
    return;
  }
  const known = facts.enum.map((value) => value.replace(/^aws:/, "svc:"));
  const lacking = known.filter((value) => !spelled.includes(value));
  const added = spelled.filter((value) => !known.includes(value));
  if (isInput && lacking.length > 0) say(`lacks the values ${lacking.join(", ")}`);
  if (added.length > 0) say(`adds the values ${added.join(", ")}`);
};
