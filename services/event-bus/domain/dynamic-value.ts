import { readPath } from "../json/json-path.ts";

/** A value that is a JSON path is replaced by the event's value there; a string without its quotes, "" if absent. */
export const dynamicValue = (value: string, event: string): string => {
  if (!value.startsWith("$.")) return value;
  const found = readPath(event, value);
  if (found === undefined) return "";
  return found.startsWith('"') ? (JSON.parse(found) as string) : found;
};
