import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault } from "../faults.ts";

/** Whether a bucket keeps versions. Empty: it never did, so each key has at most one, the null version. */
export type VersioningState = "" | "Enabled" | "Suspended";

/** The id by which callers know the version of a key that has none: made before versioning, or while suspended. */
export const nullVersionId = "null";

/** Sequences of versions are milliseconds, each divided into so many. */
export const sequencesPerMs = 1000;

/** Hexadecimal digits of a version id: its sequence, then random ones. */
const sequenceDigits = 14;
/** How many random digits a version id has. */
export const versionIdRandomDigits = 18;

/** The id of a version; it contains the sequence, so that a version is found by its id in one read. */
export const versionIdOf = (sequence: number, random: string): string =>
  sequence.toString(16).padStart(sequenceDigits, "0") + random;

/**
 * The id of a version's replica: its own. The null version has none, and where its replica is may be another; the id of
 * that replica has the same place among the versions of the key.
 */
export const replicaIdOf = ({ versionId }: { readonly versionId: string }, sequence: number): string =>
  versionId || versionIdOf(sequence, "0".repeat(versionIdRandomDigits));

/** The instant of a sequence, in milliseconds. */
export const sequenceMs = (sequence: number): number => Math.floor(sequence / sequencesPerMs);

/** The sequence in a version id; undefined for `null` and for a text that is no version id. */
export const findSequence = (versionId: string): number | undefined => {
  if (!/^[0-9a-f]{32}$/.test(versionId)) return undefined;
  const sequence = Number.parseInt(versionId.slice(0, sequenceDigits), 16);
  return Number.isSafeInteger(sequence) ? sequence : undefined;
};

/** Throws INVALID_VERSION_ID for an id that no version of a bucket in this state can have. */
export const checkVersionId = (
  state: VersioningState,
  versionId: string | undefined,
  argumentName = "versionId",
): void => {
  if (versionId === undefined || versionId === nullVersionId) return;
  if (state === "" || findSequence(versionId) === undefined)
    throw fault(ErrorReason.INVALID_VERSION_ID, { argument_name: argumentName, argument_value: versionId });
};

/** The id of a version as answers show it; undefined in a bucket that never kept versions. */
export const shownVersionId = (
  state: VersioningState,
  { versionId }: { readonly versionId: string },
): string | undefined => (state === "" ? undefined : versionId || nullVersionId);
