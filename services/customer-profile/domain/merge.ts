import type { ProfileState } from "./profile-state.ts";
import { withKeys } from "./profile-state.ts";

/** A profile that takes part in a merge. */
export interface MergedProfile {
  readonly id: string;
  readonly state: ProfileState;
}

/**
 * The main profile after others were merged into it. It has all their keys and fields. If several have a field, the
 * main profile's value is kept, then that of the first other; for a path with a named source, the source's value is
 * kept, even if it has none. An address counts as one field.
 */
export const mergeProfiles = (
  main: MergedProfile,
  others: readonly MergedProfile[],
  sources: ReadonlyMap<string, string>,
  nowMs: number,
): ProfileState => {
  const all = [main, ...others];
  const owners = new Map<string, string>(sources);
  for (const { id, state } of all)
    for (const path of state.fields.keys()) if (!owners.has(mergeUnit(path))) owners.set(mergeUnit(path), id);
  const fields = all.flatMap(({ id, state }) =>
    [...state.fields].filter(([path]) => owners.get(mergeUnit(path)) === id),
  );
  const united = { ...main.state, fields: new Map(fields) };
  return withKeys(
    united,
    others.flatMap(({ state }) => state.keys),
    nowMs,
  );
};

/** The paths that are kept together: an address with all its lines, any other path alone. */
const mergeUnit = (path: string): string => (/^\w*Address\./.exec(path)?.[0] ?? path).replace(/\.$/, "");

/** Why a merge is not valid, as a message for its author; undefined if it is. */
export const findMergeProblem = (
  profileIds: readonly string[],
  sources: ReadonlyMap<string, string>,
): string | undefined => {
  const repeated = profileIds.find((id, index) => profileIds.indexOf(id) !== index);
  if (repeated !== undefined) return `profile ${repeated} is named twice`;
  for (const [path, id] of sources)
    if (!profileIds.includes(id)) return `profile ${id}, the source of ${path}, is not among the merged ones`;
  return undefined;
};
