import { nestingDepth } from "../json/json-cursor.ts";
import { parseJson } from "../../kit/json/parse-json.ts";

/** Bytes of all entries of one call together. */
export const entriesBytesMax = 262_144;

const detailTypeCharactersMax = 128;

/** The checked members of an entry of PutEvents. */
export interface PutEntry {
  readonly source?: string | undefined;
  readonly detailType?: string | undefined;
  readonly detail?: string | undefined;
  readonly resources: readonly string[];
  readonly time?: unknown;
}

/** Why one entry is refused. The code is the documented one of the answer's entry. */
export interface EntryRefusal {
  readonly code: string;
  readonly message: string;
}

/** The bytes that an entry counts towards the limit of a call: 14 for a time, and the UTF-8 bytes of its texts. */
export const entryBytes = (entry: PutEntry): number =>
  (entry.time === undefined ? 0 : 14) +
  [entry.source, entry.detailType, entry.detail, ...entry.resources].reduce(
    (sum, text) => sum + Buffer.byteLength(text ?? ""),
    0,
  );

/**
 * Why an entry is refused, or undefined if it is accepted. It checks, in the order that clients of such APIs expect:
 * 1. the source, the detail type and the detail are given and not empty;
 * 2. the detail is a JSON object, of at most `depthMax` levels of objects and lists;
 * 3. the detail type is not too long;
 * 4. the source is not reserved for services, unless `mayUseReserved`.
 */
export const refuseEntry = (entry: PutEntry, mayUseReserved: boolean, depthMax: number): EntryRefusal | undefined => {
  const missing = [
    ["Source", entry.source],
    ["DetailType", entry.detailType],
    ["Detail", entry.detail],
  ].find(([, value]) => value === undefined || value === "");
  if (missing !== undefined) return invalidArgument(`${missing[0]}`, `${missing[0]} is a required argument.`);
  if (!isJsonObject(entry.detail ?? "")) return { code: "MalformedDetail", message: "Detail is malformed." };
  if (nestingDepth(entry.detail ?? "") > depthMax)
    return { code: "MalformedDetail", message: `Detail is nested deeper than ${depthMax} levels.` };
  if (Array.from(entry.detailType ?? "").length > detailTypeCharactersMax)
    return invalidArgument("DetailType", `DetailType is longer than ${detailTypeCharactersMax} characters.`);
  if (!mayUseReserved && isReservedSource(entry.source ?? ""))
    return { code: "NotAuthorizedForSourceException", message: "Not authorized for the source." };
  return undefined;
};

/** Whether a source is reserved for services, in either dialect. */
const isReservedSource = (source: string): boolean => /^(?:aws|svc)\./.test(source);

const invalidArgument = (parameter: string, reason: string): EntryRefusal => ({
  code: "InvalidArgument",
  message: `Parameter ${parameter} is not valid. Reason: ${reason}`,
});

const isJsonObject = (text: string): boolean => {
  try {
    const parsed: unknown = parseJson(text);
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
  } catch {
    return false;
  }
};
