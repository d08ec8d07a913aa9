import type { FaultViolation } from "../faults/service-error.ts";

/** One member that violates a constraint. */
export interface Violation extends FaultViolation {
  /** The value as shown to the caller; undefined: not shown. */
  readonly value?: string;
}

/** The most characters of a value that a message shows. */
const shownCharactersMax = 128;

/** How a refusal names members: as the proto does, for callers over RPC, or as the wire does. */
export type MemberNaming = "proto" | "wire";

/** The path of the violating member, for example `entries[0].source` or `Entries[0].Source`. */
export const violationPath = ({ field, path }: Violation, naming: MemberNaming): string =>
  naming === "proto" ? field : path;

/** `Value 'x' at 'name' failed to satisfy constraint: Member must …`. */
export const violationSentence = (violation: Violation, naming: MemberNaming): string => {
  const value = violation.value === undefined ? "Value" : `Value ${violation.value}`;
  return `${value} at '${violationPath(violation, naming)}' failed to satisfy constraint: ${violation.description}`;
};

/** A value as a sentence shows it: quoted, clipped, on one line. */
export const quoteValue = (value: unknown): string | undefined => {
  const text = valueText(value);
  if (text === undefined) return undefined;
  const characters = text.length <= shownCharactersMax ? text : `${clip(text, shownCharactersMax)}…`;
  return `'${characters.replaceAll(/\p{Cc}/gu, " ")}'`;
};

export const mustNotBeNull = "Member must not be null";

/** Bounds of a length; inclusive. */
export const mustHaveLength = (bound: "min" | "max", limit: number): string =>
  `Member must have length ${bound === "min" ? "greater" : "less"} than or equal to ${limit}`;

/** Bounds of a number; inclusive. */
export const mustHaveValue = (bound: "min" | "max", limit: bigint): string =>
  `Member must have value ${bound === "min" ? "greater" : "less"} than or equal to ${limit}`;

export const mustMatch = (pattern: string): string => `Member must satisfy regular expression pattern: ${pattern}`;

export const mustBeOneOf = (values: readonly string[]): string =>
  `Member must satisfy enum value set: [${values.join(", ")}]`;

export const mustBeUnique = "Member must have unique items";

const valueText = (value: unknown): string | undefined => {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (!Array.isArray(value)) return undefined;
  const items = value.slice(0, shownCharactersMax).map(valueText);
  return items.every((item) => item !== undefined) ? `[${items.join(", ")}]` : undefined;
};

/** The first characters of a text; never half a surrogate pair. */
const clip = (text: string, characters: number): string => text.slice(0, characters).replace(/[\uD800-\uDBFF]$/, "");
