import type {
  AutoMerging,
  ConflictResolution,
  Consolidation,
} from "../../../../gen/quartet/customerprofile/v1/matching_pb.ts";
import type { MergedProfile } from "../merge.ts";
import { mergeUnit } from "../merge.ts";
import { addressFields, addressLines, attributesPrefix, textFields } from "../profile-fields.ts";
import type { FieldState, ProfileState } from "../profile-state.ts";

/** Which profiles of a match are merged, and whose values win. */
export type MergingSettings = Pick<
  AutoMerging,
  "consolidation" | "conflictResolution" | "minAllowedConfidenceScoreForMerging"
>;

/** Profiles that are merged into the first of them, and the profile that supplies each field. */
export interface PlannedMerge {
  readonly main: string;
  readonly others: readonly string[];
  readonly sources: ReadonlyMap<string, string>;
}

/** Why settings of merging are not valid, as a message for their author; undefined if they are. */
export const findMergingProblem = (settings: Partial<MergingSettings>): string | undefined => {
  const { consolidation, conflictResolution } = settings;
  if (conflictResolution?.conflictResolvingModel === "SOURCE" && conflictResolution.sourceName === undefined)
    return "ConflictResolution by SOURCE needs a SourceName";
  const unknown = consolidation?.matchingAttributesList
    .flatMap(({ items }) => items)
    .find((name) => !isAttribute(name));
  return unknown === undefined
    ? undefined
    : `MatchingAttributesList names ${unknown}, which is no attribute of profiles`;
};

const attributes = new Set([
  ...textFields.map(({ path }) => path),
  ...addressFields.flatMap(({ path }) => [path, ...addressLines.map((line) => `${path}.${line.path}`)]),
]);

/** Whether a name is that of an attribute: a field, an address, one of its lines, or `Attributes.` and any name. */
export const isAttribute = (name: string): boolean =>
  attributes.has(name) || (name.startsWith(attributesPrefix) && name.length > attributesPrefix.length);

/** Whether a match is sure enough to be merged. */
export const isSureEnough = (confidence: number, settings: MergingSettings): boolean =>
  confidence >= (settings.minAllowedConfidenceScoreForMerging ?? 0);

/**
 * What is merged of the profiles of a match: those that agree exactly on all attributes of a criterion, or are held
 * together by others that do. The oldest of them stays.
 */
export const plannedMerges = (profiles: readonly MergedProfile[], settings: MergingSettings): PlannedMerge[] =>
  mergesOf(
    profiles,
    (one, other) => isAgreed(one.state, other.state, settings.consolidation),
    settings.conflictResolution,
  );

/** What is merged of some profiles: those that agree, or are held together by others that do. The oldest stays. */
export const mergesOf = (
  profiles: readonly MergedProfile[],
  isSame: (one: MergedProfile, other: MergedProfile) => boolean,
  conflictResolution: ConflictResolution | undefined,
): PlannedMerge[] => {
  const [oldest, ...later] = profiles.toSorted(compareAge);
  if (oldest === undefined) return [];
  const together = [oldest];
  let left: readonly MergedProfile[] = later;
  for (const one of together) {
    const { agreeing = [], others = [] } = Object.groupBy(left, (other) =>
      isSame(one, other) ? "agreeing" : "others",
    );
    together.push(...agreeing);
    left = others;
  }
  const rest = mergesOf(left, isSame, conflictResolution);
  if (together.length === 1) return rest;
  const [, ...others] = together.map(({ id }) => id);
  return [{ main: oldest.id, others, sources: sourcesOf(together, conflictResolution) }, ...rest];
};

const compareAge = (a: MergedProfile, b: MergedProfile): number =>
  a.state.createdMs - b.state.createdMs || (a.id < b.id ? -1 : 1);

const isAgreed = (a: ProfileState, b: ProfileState, consolidation: Consolidation | undefined): boolean =>
  consolidation?.matchingAttributesList.some(({ items }) =>
    items.every((name) => {
      const [one, other] = [valueAt(a, name), valueAt(b, name)];
      return one !== undefined && one === other;
    }),
  ) ?? false;

/** The text of an attribute; of an address, that of all its lines. */
const valueAt = ({ fields }: ProfileState, name: string): string | undefined => {
  if (!addressFields.some(({ path }) => path === name)) return fields.get(name)?.value;
  const lines = addressLines.map(({ path }) => fields.get(`${name}.${path}`)?.value);
  return lines.every((line) => line === undefined) ? undefined : JSON.stringify(lines);
};

/** For each field, the profile whose value wins: that of the named source, else the most recent. */
const sourcesOf = (
  profiles: readonly MergedProfile[],
  resolution: ConflictResolution | undefined,
): ReadonlyMap<string, string> => {
  const sourceName = resolution?.conflictResolvingModel === "SOURCE" ? resolution.sourceName : undefined;
  const winners = new Map<string, { readonly id: string; readonly rank: readonly [isNamed: number, timeMs: number] }>();
  for (const { id, state } of profiles)
    for (const [path, field] of state.fields) {
      const rank = [
        field.source !== undefined && field.source.objectTypeName === sourceName ? 1 : 0,
        timeOf(field, state),
      ] as const;
      const winner = winners.get(mergeUnit(path));
      if (winner === undefined || isHigher(rank, winner.rank)) winners.set(mergeUnit(path), { id, rank });
    }
  return new Map([...winners].map(([unit, { id }]) => [unit, id]));
};

/** When a value was put; of one that was set by hand, only the last change of its profile is known. */
const timeOf = ({ source }: FieldState, { updatedMs }: ProfileState): number => source?.timeMs ?? updatedMs;

const isHigher = (a: readonly [number, number], b: readonly [number, number]): boolean =>
  a[0] === b[0] ? a[1] > b[1] : a[0] > b[0];
