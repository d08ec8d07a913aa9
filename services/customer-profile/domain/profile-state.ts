import { emailPaths, namePaths, phonePaths } from "./profile-fields.ts";
import type { ProfileValues } from "./profile-values.ts";
import type { SearchKey } from "./search-key.ts";
import { searchKey } from "./search-key.ts";

/** The object that a value came from. */
export interface ObjectSource {
  readonly objectTypeName: string;
  /** Hexadecimal; a later type of the same name has another identifier. */
  readonly typeId: string;
  readonly objectKey: string;
  /** When the object was put, in milliseconds. */
  readonly timeMs: number;
}

/** A field: its text and the object that it came from; without a source it was set by hand. */
export interface FieldState {
  readonly value: string;
  readonly source?: ObjectSource;
}

/** A search key that was added by hand. */
export interface AddedKey {
  /** Documented spelling. */
  readonly name: string;
  /** As in the request. */
  readonly value: string;
}

/** Everything that is known about one customer, except objects. */
export interface ProfileState {
  /** By path. */
  readonly fields: ReadonlyMap<string, FieldState>;
  readonly keys: readonly AddedKey[];
  readonly createdMs: number;
  readonly updatedMs: number;
}

/** A new profile with values set by hand. */
export const createdProfile = (values: ProfileValues, nowMs: number): ProfileState =>
  changedByHand({ fields: new Map(), keys: [], createdMs: nowMs, updatedMs: nowMs }, values, nowMs);

/** The profile after a change by hand: an empty text removes its path; paths that are not in the change stay. */
export const changedByHand = (profile: ProfileState, values: ProfileValues, nowMs: number): ProfileState => {
  const fields = new Map(profile.fields);
  for (const [path, value] of values) {
    if (value === "") fields.delete(path);
    else fields.set(path, { value });
  }
  return { ...profile, fields, updatedMs: nowMs };
};

/**
 * The profile after an object was put: values set by hand stay; values that this object supplied earlier and no longer
 * contains are removed.
 */
export const changedByObject = (profile: ProfileState, values: ProfileValues, source: ObjectSource): ProfileState => {
  const fields = new Map(profile.fields);
  for (const [path, field] of profile.fields)
    if (isOf(field, source.typeId, source.objectKey) && !values.has(path)) fields.delete(path);
  for (const [path, value] of values) {
    const before = fields.get(path);
    if (before === undefined || before.source !== undefined) fields.set(path, { value, source });
  }
  return { ...profile, fields, updatedMs: source.timeMs };
};

/** The profile without the values that an object supplied. */
export const withoutObject = (profile: ProfileState, typeId: string, objectKey: string): ProfileState => ({
  ...profile,
  fields: new Map([...profile.fields].filter(([, field]) => !isOf(field, typeId, objectKey))),
});

const isOf = ({ source }: FieldState, typeId: string, objectKey: string): boolean =>
  source?.typeId === typeId && source.objectKey === objectKey;

/** The profile with more keys; a key that it already has is not added again. */
export const withKeys = (profile: ProfileState, added: readonly AddedKey[], nowMs: number): ProfileState => {
  const keys = [...profile.keys];
  const known = new Set(keys.map(identityOf));
  for (const key of added) {
    const identity = identityOf(key);
    if (known.has(identity)) continue;
    known.add(identity);
    keys.push(key);
  }
  return { ...profile, keys, updatedMs: nowMs };
};

/** The profile without these keys; keys that it does not have are ignored. */
export const withoutKeys = (profile: ProfileState, removed: readonly AddedKey[], nowMs: number): ProfileState => {
  const identities = new Set(removed.map(identityOf));
  return { ...profile, keys: profile.keys.filter((key) => !identities.has(identityOf(key))), updatedMs: nowMs };
};

/** The texts of a profile by path. */
export const valuesIn = (profile: ProfileState): ProfileValues =>
  new Map([...profile.fields].map(([path, field]) => [path, field.value]));

/** The size of a profile's content, for the statistics. */
export const contentBytes = (profile: ProfileState): number => {
  let bytes = 0;
  for (const [path, field] of profile.fields) bytes += Buffer.byteLength(path) + Buffer.byteLength(field.value);
  for (const key of profile.keys) bytes += Buffer.byteLength(key.name) + Buffer.byteLength(key.value);
  return bytes;
};

/** What a key that was added by hand counts besides its text: its entry in the index, which each change compares. */
const keyEntryBytes = 64;

/** What a profile's keys count towards its limit besides its content. */
export const indexEntryBytes = ({ keys }: ProfileState): number => keys.length * keyEntryBytes;

/** Objects that one unit of metering covers. */
const objectsPerUnit = 100;

/** The metering units of a profile with this number of objects: one for each hundred begun, and at least one. */
export const meteringUnits = (objectCount: number): number => Math.max(1, Math.ceil(objectCount / objectsPerUnit));

/** The keys that fields supply, but for the full name, and the paths of the fields. */
const keyPaths: readonly (readonly [name: string, paths: readonly string[]])[] = [
  ["_account", ["AccountNumber"]],
  ["_phone", phonePaths],
  ["_email", emailPaths],
];

/** The search keys that a profile's own content supplies, each once. */
export const searchKeysOf = (profile: ProfileState): readonly SearchKey[] => {
  const names = namePaths.map((path) => profile.fields.get(path)?.value);
  const fullName = names.filter((text) => text !== undefined).join(" ");
  const keys: SearchKey[] = [];
  for (const [name, paths] of keyPaths)
    for (const path of paths) {
      const text = profile.fields.get(path)?.value;
      if (text !== undefined) keys.push(searchKey(name, text));
    }
  if (fullName !== "") keys.push(searchKey("_fullName", fullName));
  for (const { name, value } of profile.keys) keys.push(searchKey(name, value));
  return distinct(keys);
};

/** The same text for two spellings of the same value. No name contains a space. */
const identityOf = ({ name, value }: AddedKey): string => `${name} ${searchKey(name, value).value}`;

const distinct = (keys: readonly SearchKey[]): readonly SearchKey[] => {
  // No name contains a space.
  const found = new Map(keys.map((key) => [`${key.name} ${key.comparison} ${key.value}`, key]));
  return [...found.values()];
};
