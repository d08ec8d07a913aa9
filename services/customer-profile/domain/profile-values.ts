import { fromJsonString, toJsonString } from "@bufbuild/protobuf";

import type { EngagementPreferences, Profile } from "../../../gen/quartet/customerprofile/v1/profile_pb.ts";
import { EngagementPreferencesSchema } from "../../../gen/quartet/customerprofile/v1/profile_pb.ts";
import { limits } from "../limits.ts";
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

/** The texts that are set in a request, by path; of more attributes than a profile may have not all. */
export const valuesOf = (members: ProfileMembers): ProfileValues => {
  const values = new Map<string, string>();
  const set = (path: string, text: string | undefined) => {
    if (text !== undefined) values.set(path, text);
  };
  for (const { path, member } of textFields) set(path, members[member]);
  for (const { path, member } of addressFields) {
    const address = members[member];
    if (address !== undefined) for (const line of addressLines) set(`${path}.${line.path}`, address[line.member]);
  }
  let attributeBytes = 0;
  for (const [name, text] of Object.entries(members.attributes)) {
    values.set(attributesPrefix + name, text);
    if (text !== "") attributeBytes += attributesPrefix.length + name.length + text.length;
    // What is read already is more than a profile may have, and nothing that follows takes of it.
    if (attributeBytes > limits.profileContentBytesMax) break;
  }
  if (members.engagementPreferences !== undefined)
    values.set(engagementPreferencesPath, toJsonString(EngagementPreferencesSchema, members.engagementPreferences));
  return values;
};

type AddressMember = (typeof addressFields)[number]["member"];
type AddressLine = (typeof addressLines)[number]["member"];

const textMembers = new Map(textFields.map(({ path, member }) => [path, member]));
const addressMembers = new Map<string, readonly [AddressMember, AddressLine]>(
  addressFields.flatMap(({ path, member }) =>
    addressLines.map((line) => [`${path}.${line.path}`, [member, line.member]] as const),
  ),
);

/** The profile with these texts as answers show it. */
export const profileOf = (profileId: string, values: ProfileValues): Profile => {
  const profile: Profile = {
    $typeName: "quartet.customerprofile.v1.Profile",
    profileId,
    foundByItems: [],
    attributes: {},
  };
  const attributes: [name: string, text: string][] = [];
  for (const [path, text] of values) {
    const member = textMembers.get(path);
    const line = member === undefined ? addressMembers.get(path) : undefined;
    if (member !== undefined) profile[member] = text;
    else if (line !== undefined)
      (profile[line[0]] ??= { $typeName: "quartet.customerprofile.v1.Address" })[line[1]] = text;
    else if (path === engagementPreferencesPath)
      profile.engagementPreferences = fromJsonString(EngagementPreferencesSchema, text);
    else if (path.startsWith(attributesPrefix)) attributes.push([path.slice(attributesPrefix.length), text]);
  }
  if (attributes.length > 0) profile.attributes = Object.fromEntries(attributes);
  return profile;
};
