import type { AddedKey, FieldState, ProfileState } from "./profile-state.ts";
import { withKeys } from "./profile-state.ts";

/** A profile that takes part in a merge. */
export interface MergedProfile {
  readonly id: string;
  readonly state: ProfileState;
}

/**
 * A merge of profiles into a main one, one after the other. The result has all their keys and fields. If several have a
 * field, the main profile's value is kept, then that of the first other; for a path with a named source, the source's
 * value is kept, even if it has none. An address counts as one field.
 */
export class ProfileMerge {
  readonly #main: ProfileState;
  /** The profile that supplies each field, by path. */
  readonly #owners: Map<string, string>;
  readonly #fields = new Map<string, FieldState>();
  #keys: readonly AddedKey[] = [];

  constructor(main: MergedProfile, sources: ReadonlyMap<string, string>) {
    this.#main = main.state;
    this.#owners = new Map(sources);
    this.add(main);
  }

  /** Merges another profile. */
  add({ id, state }: MergedProfile): void {
    for (const [path, field] of state.fields) {
      const unit = mergeUnit(path);
      const owner = this.#owners.get(unit);
      if (owner === undefined) this.#owners.set(unit, id);
      if ((owner ?? id) === id) this.#fields.set(path, field);
    }
    this.#keys = withKeys({ ...state, keys: this.#keys }, state.keys, 0).keys;
  }

  /** The main profile after the merge so far. */
  stateAt(nowMs: number): ProfileState {
    return { ...this.#main, fields: this.#fields, keys: this.#keys, updatedMs: nowMs };
  }
}

/** The path of what is kept together: an address with all its lines, any other path alone. */
export const mergeUnit = (path: string): string => /^(\w*Address)\./.exec(path)?.[1] ?? path;

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
