import type { PathReader } from "../json/json-path.ts";

/** A value that is a JSON path is replaced by the event's value there; a string without its quotes, "" if absent. */
export const dynamicValue = (value: string, event: PathReader): string => {
  if (!value.startsWith("$.")) return value;
  const found = event.read(value);
  if (found === undefined) return "";
  return found.startsWith('"') ? (JSON.parse(found) as string) : found;
};
