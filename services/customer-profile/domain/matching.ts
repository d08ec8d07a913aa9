import type { ObjectKey } from "./object-mapping.ts";

/** A key of an object and the profiles that have it: at most two, which stand for any number above one. */
export interface KeyHits extends ObjectKey {
  readonly profileIds: readonly Uint8Array[];
}

/** The profile that an object is attached to. */
export type ProfileMatch =
  | { readonly kind: "attach"; readonly profileId: Uint8Array }
  | { readonly kind: "create" }
  | { readonly kind: "none" };

/**
 * Decides which profile an object is attached to. The first PROFILE key that exactly one profile has decides; keys that
 * are also SECONDARY come after all others, and a key that several profiles have decides nothing. If no key decides, a
 * profile is created where the type allows it.
 */
export const decideMatch = (keys: readonly KeyHits[], allowsCreation: boolean): ProfileMatch => {
  const profileKeys = keys.filter(({ identifiers }) => identifiers.has("PROFILE"));
  const inOrder = [
    ...profileKeys.filter(({ identifiers }) => !identifiers.has("SECONDARY")),
    ...profileKeys.filter(({ identifiers }) => identifiers.has("SECONDARY")),
  ];
  for (const { profileIds } of inOrder) {
    const [profileId, another] = profileIds;
    if (profileId !== undefined && another === undefined) return { kind: "attach", profileId };
  }
  return allowsCreation ? { kind: "create" } : { kind: "none" };
};

/** The keys of an object under which its profile is found after this. */
export const keptKeys = <Key extends ObjectKey>(keys: readonly Key[], isProfileNew: boolean): readonly Key[] =>
  keys.filter(({ identifiers }) => !identifiers.has("LOOKUP_ONLY") && (isProfileNew || !identifiers.has("NEW_ONLY")));
