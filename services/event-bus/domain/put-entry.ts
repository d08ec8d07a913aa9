import { nestingDepth } from "../json/json-cursor.ts";

/** What an entry must satisfy, as far as the entry itself tells. */
export interface EntryLimits {
  /** Bytes of all entries of one call together. */
  readonly entriesBytesMax: number;
  readonly detailTypeCharactersMax: number;
}

export const entryLimits: EntryLimits = {
  entriesBytesMax: 262_144,
  detailTypeCharactersMax: 128,
};

/** An entry as far as its checks need it. */
export interface Entry {
  readonly source?: string | undefined;
  readonly detailType?: string | undefined;
  readonly detail?: string | undefined;
  readonly resources: readonly string[];
  readonly time?: unknown;
}

/** Why one entry is not taken. */
export interface EntryRefusal {
  readonly code: string;
  readonly message: string;
}

/** What an entry counts towards the limit of a call: 14 bytes for a time, and the UTF-8 bytes of its texts. */
export const entryBytes = (entry: Entry): number =>
  (entry.time === undefined ? 0 : 14) +
  [entry.source, entry.detailType, entry.detail, ...entry.resources].reduce(
    (sum, text) => sum + Buffer.byteLength(text ?? ""),
    0,
  );

/**
 * Why an entry is not taken, in the order in which clients of such APIs see it; undefined when it is. `mayUseReserved`
 * says whether the caller may put events in the name of a service, `depthMax` how many levels of objects and lists a detail
 * may have.
 */
export const refuseEntry = (entry: Entry, mayUseReserved: boolean, depthMax: number): EntryRefusal | undefined => {
  const missing = [
    ["Source", entry.source],
    ["DetailType", entry.detailType],
    ["Detail", entry.detail],
  ].find(([, value]) => value === undefined || value === "");
  if (missing !== undefined) return invalidArgument(`${missing[0]}`, `${missing[0]} is a required argument.`);
  if (!isJsonObject(entry.detail ?? "")) return { code: "MalformedDetail", message: "Detail is malformed." };
  if (nestingDepth(entry.detail ?? "") > depthMax)
    return { code: "MalformedDetail", message: `Detail is nested deeper than ${depthMax} levels.` };
  if (Array.from(entry.detailType ?? "").length > entryLimits.detailTypeCharactersMax)
    return invalidArgument(
      "DetailType",
      `DetailType is longer than ${entryLimits.detailTypeCharactersMax} characters.`,
    );
  if (!mayUseReserved && isReservedSource(entry.source ?? ""))
    return { code: "NotAuthorizedForSourceException", message: "Not authorized for the source." };
  return undefined;
};

/** Sources that belong to services, in either dialect. */
export const isReservedSource = (source: string): boolean => /^(?:aws|svc)\./.test(source);

const invalidArgument = (parameter: string, reason: string): EntryRefusal => ({
  code: "InvalidArgument",
  message: `Parameter ${parameter} is not valid. Reason: ${reason}`,
});

const isJsonObject = (text: string): boolean => {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
  } catch {
    return false;
  }
};
