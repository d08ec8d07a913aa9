/** A parsed JSON value; numbers keep their source text, so that no digits are lost. */
export type JsonValue = string | boolean | null | readonly JsonValue[] | { readonly [name: string]: JsonValue };

/** The characters that may still be composed; below 0: a text was too long. */
export interface TextBudget {
  left: number;
}

/** A member or an element of a value; undefined if it has none of this name. */
export const memberOf = (value: JsonValue | undefined, name: string): JsonValue | undefined =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as { readonly [name: string]: JsonValue })[name]
    : undefined;

/** A value as a text. Only texts, numbers and booleans are one, and the empty text is none. */
export const textOf = (value: JsonValue | undefined): string | undefined => {
  if (typeof value === "boolean") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
};
