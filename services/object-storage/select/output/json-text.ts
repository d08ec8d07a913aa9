import { isPlain } from "../evaluate/texts.ts";
import { Timestamp } from "../values/timestamp.ts";
import type { Structure, Value } from "../values/value.ts";
import { textOf } from "../values/value.ts";

/** The JSON text of a value. Members that are missing are left out; numbers are written exactly. */
export const jsonText = (value: Value): string => {
  if (value === undefined || value === null) return "null";
  if (typeof value === "string") return JSON.stringify(value);
  if (isPlain(value)) {
    if (value instanceof Timestamp) return JSON.stringify(textOf(value));
    // JSON has no infinite numbers.
    return typeof value === "number" && !Number.isFinite(value) ? "null" : textOf(value);
  }
  if (Array.isArray(value)) return `[${value.map(jsonText).join(",")}]`;
  return structureText(value as Structure);
};

const structureText = (structure: Structure): string => {
  const members: string[] = [];
  for (const [name, member] of structure)
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${jsonText(member)}`);
  return `{${members.join(",")}}`;
};
