import * as z from "zod";

import { ConfigError } from "./config-error.ts";

/**
 * The value as its schema reads it. `place` says where it was found: `accounts`, `--listen`. Throws ConfigError with
 * the place of the first invalid value; the message quotes no value.
 */
export const readValue = <Schema extends z.ZodType>(schema: Schema, value: unknown, place = ""): z.output<Schema> => {
  const read = schema.safeParse(value, { error: describeIssue });
  if (read.success) return read.data;
  throw new ConfigError(refusalOf(read.error.issues, place));
};

/** The place of a member or an item: `accounts["111122223333"].users[0]`. */
export const memberPlace = (place: string, name: PropertyKey): string => {
  if (typeof name === "number") return `${place}[${name}]`;
  if (!/^[A-Za-z_$][\w$]*$/.test(String(name))) return `${place}[${JSON.stringify(name)}]`;
  return place === "" ? String(name) : `${place}.${String(name)}`;
};

const typeNames: Readonly<Record<string, string>> = {
  string: "a string",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** Completes the sentence that begins with a place, where the schema has no message of its own. */
const describeIssue: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is missing" : `must be ${typeNames[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return `must be one of ${issue.values.join(", ")}`;
    case "unrecognized_keys":
      return `is not known; known are ${knownNames(issue.inst).join(", ")}`;
    case "invalid_union":
      return `must be ${issue.errors.flatMap(typeMismatches).join(" or ")}`;
    default:
      return undefined;
  }
};

const knownNames = (schema: unknown): string[] => {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  if (schema instanceof z.ZodRecord && schema.keyType instanceof z.ZodEnum) return schema.keyType.options.map(String);
  return [];
};

type Issue = z.core.$ZodIssue;

/** The types that the branches of a union expect. */
const typeMismatches = (issues: readonly Issue[]): string[] =>
  issues.flatMap((issue) =>
    issue.code === "invalid_type" && issue.path.length === 0 ? [typeNames[issue.expected] ?? issue.expected] : [],
  );

/** A misspelled name often makes another one missing, so unknown names come first. */
const refusalOf = (issues: readonly Issue[], place: string): string => {
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  if (issue === undefined) return `${place} is not valid`;
  const at = issue.path.reduce(memberPlace, place);
  if (issue.code === "unrecognized_keys") return `${memberPlace(at, issue.keys[0] ?? "")} ${issue.message}`;
  // Of a union, the branch that expects the type of the value says what is wrong with it.
  const branch =
    issue.code === "invalid_union" ? issue.errors.find((each) => typeMismatches(each).length === 0) : undefined;
  return branch === undefined ? `${at || "it"} ${issue.message}` : refusalOf(branch, at);
};
