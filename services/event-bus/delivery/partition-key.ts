import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import { parseJson } from "../../kit/json/parse-json.ts";
import type { PathReader } from "../json/json-path.ts";

/** The partition key of an event: the value at the target's path, or the event's id where there is none. */
export const partitionKey = ({ streamParameters }: Target, event: PathReader, eventId: string): string => {
  const path = streamParameters?.partitionKeyPath;
  const found = path === undefined ? undefined : event.read(path);
  if (found === undefined) return eventId;
  return (found.startsWith('"') ? String(parseJson(found)) : found).slice(0, 256) || eventId;
};
