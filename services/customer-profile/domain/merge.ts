import type { ProfileState } from "./profile-state.ts";
import { withKeys } from "./profile-state.ts";

/** One of the profiles that become part of another. */
export interface MergedProfile {
  readonly id: string;
  readonly state: ProfileState;
}

/**
 * What a profile holds after others became part of it. Keys and fields are united. Where several have a field, the main
 * profile's wins, then that of the first of the others; for a path that names a source, the source's wins, even when it
 * has none. A whole address is one field in this.
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

/** What wins or loses as one: an address with all its lines, any other path alone. */
const mergeUnit = (path: string): string => (/^\w*Address\./.exec(path)?.[0] ?? path).replace(/\.$/, "");

/** What is wrong with a merge, in words for its author, or undefined. */
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
