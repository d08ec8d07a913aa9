import { addressFields, addressLines, attributesPrefix, textFields } from "./profile-fields.ts";

const profilePaths = new Set([
  ...textFields.map((field) => field.path),
  ...addressFields.flatMap((field) => addressLines.map((line) => `${field.path}.${line.path}`)),
]);

const profilePrefix = "_profile.";
/** Targets of other standard types: their objects are stored whole and change nothing in the profile. */
const otherPrefixes = ["_asset.", "_case.", "_order."];

/** The path of the profile that a target names; undefined without a target, and for one of another standard type. */
export const targetPath = (target: string | undefined): string | undefined =>
  target?.startsWith(profilePrefix) === true ? target.slice(profilePrefix.length) : undefined;

/** Whether a target names a path that objects may set. */
export const isKnownTarget = (target: string): boolean => {
  if (otherPrefixes.some((prefix) => target.startsWith(prefix))) return true;
  const path = targetPath(target);
  if (path === undefined) return false;
  return profilePaths.has(path) || (path.startsWith(attributesPrefix) && path.length > attributesPrefix.length);
};
