import type { MessageInitShape } from "@bufbuild/protobuf";
import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";

import type { EngagementPreferences, Profile } from "../../../gen/quartet/customerprofile/v1/profile_pb.ts";
import { EngagementPreferencesSchema, ProfileSchema } from "../../../gen/quartet/customerprofile/v1/profile_pb.ts";
import type { TextField } from "./profile-fields.ts";
import {
  addressFields,
  addressLines,
  attributesPrefix,
  engagementPreferencesPath,
  textFields,
} from "./profile-fields.ts";

/** Texts by path. In a change an empty text removes the path. */
export type ProfileValues = ReadonlyMap<string, string>;

type AddressMessage = Partial<Record<(typeof addressLines)[number]["member"], string>>;

/** The members that CreateProfileRequest, UpdateProfileRequest and Profile share. */
export type ProfileMembers = Partial<Record<TextField["member"], string>> &
  Partial<Record<(typeof addressFields)[number]["member"], AddressMessage>> & {
    readonly attributes: Readonly<Record<string, string>>;
    readonly engagementPreferences?: EngagementPreferences;
  };

/** The texts that are set in a request, by path. */
export const valuesOf = (members: ProfileMembers): ProfileValues => {
  const values = new Map<string, string>();
  const set = (path: string, text: string | undefined) => {
    if (text !== undefined) values.set(path, text);
  };
  for (const { path, member } of textFields) set(path, members[member]);
  for (const { path, member } of addressFields)
    for (const line of addressLines) set(`${path}.${line.path}`, members[member]?.[line.member]);
  for (const [name, text] of Object.entries(members.attributes)) values.set(attributesPrefix + name, text);
  if (members.engagementPreferences !== undefined)
    values.set(engagementPreferencesPath, toJsonString(EngagementPreferencesSchema, members.engagementPreferences));
  return values;
};

/** The profile with these texts as answers show it. */
export const profileOf = (profileId: string, values: ProfileValues): Profile => {
  const members: MessageInitShape<typeof ProfileSchema> = { profileId };
  for (const { path, member } of textFields) members[member] = values.get(path);
  for (const { path, member } of addressFields) {
    const lines = addressLines.flatMap((line) => {
      const text = values.get(`${path}.${line.path}`);
      return text === undefined ? [] : [[line.member, text] as const];
    });
    if (lines.length > 0) members[member] = Object.fromEntries(lines);
  }
  const preferences = values.get(engagementPreferencesPath);
  if (preferences !== undefined)
    members.engagementPreferences = fromJsonString(EngagementPreferencesSchema, preferences);
  members.attributes = Object.fromEntries(
    [...values]
      .filter(([path]) => path.startsWith(attributesPrefix))
      .map(([path, text]) => [path.slice(attributesPrefix.length), text]),
  );
  return create(ProfileSchema, members);
};
