import type { ObjectKey } from "./object-mapping.ts";

/** A key of an object and the profiles that have it: none, one, or two for "several". */
export interface KeyHits extends ObjectKey {
  readonly profileIds: readonly Uint8Array[];
}

/** To which profile an object belongs. */
export type Match =
  | { readonly kind: "attach"; readonly profileId: Uint8Array }
  | { readonly kind: "create" }
  | { readonly kind: "none" };

/**
 * Decides to which profile an object belongs. PROFILE keys are asked in their order, those that are SECONDARY after
 * all others; one that several profiles have decides nothing, and the first that exactly one has decides. When none
 * does, a profile is made where the type allows it.
 */
export const decideMatch = (keys: readonly KeyHits[], allowsCreation: boolean): Match => {
  const asked = keys.filter(({ identifiers }) => identifiers.has("PROFILE"));
  const inOrder = [
    ...asked.filter(({ identifiers }) => !identifiers.has("SECONDARY")),
    ...asked.filter(({ identifiers }) => identifiers.has("SECONDARY")),
  ];
  for (const { profileIds } of inOrder) {
    const [profileId, another] = profileIds;
    if (profileId !== undefined && another === undefined) return { kind: "attach", profileId };
  }
  return allowsCreation ? { kind: "create" } : { kind: "none" };
};

/** The keys of an object that find its profile from now on. */
export const keptKeys = <Key extends ObjectKey>(keys: readonly Key[], isProfileNew: boolean): readonly Key[] =>
  keys.filter(({ identifiers }) => !identifiers.has("LOOKUP_ONLY") && (isProfileNew || !identifiers.has("NEW_ONLY")));
