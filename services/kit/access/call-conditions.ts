import type { DescMethod } from "@bufbuild/protobuf";

import type { Accounts } from "../accounts/accounts.ts";
import { isPrincipalCondition, principalCondition } from "../accounts/principal-conditions.ts";
import type { Clock } from "../clock/clock.ts";
import type { ConditionMember, ReadMember } from "../contract/permissions.ts";
import { methodPermissions } from "../contract/permissions.ts";
import { enumSpellings } from "../contract/spellings.ts";
import type { Caller } from "../identity/caller.ts";
import { anonymousCaller } from "../identity/caller.ts";
import type { ConditionContext } from "../policy/condition.ts";
import type { PolicySpelling, ServiceNames } from "../policy/spelling.ts";
import type { Tags } from "../tags/tags.ts";

/** Condition keys and their values; keys in lower case and in the public dialect. */
export type Conditions = ReadonlyMap<string, readonly string[]>;

/** The parts of a call that condition keys ask for. */
export interface ConditionedCall {
  readonly app: {
    readonly clock: Pick<Clock, "now">;
    readonly accounts?: Pick<Accounts, "findOrganizationId"> | undefined;
    /** The region of the service. Unset: its policies cannot ask for it. */
    readonly region?: string;
  };
  readonly method: DescMethod;
  readonly caller: Caller;
  /** The documented prefix of the service's condition keys, and how keys are spelled. */
  readonly prefix: string;
  readonly spelling: PolicySpelling;
}

/**
 * The condition keys of a question, read when the first one is asked for, because most policies have no conditions. The
 * resource's own values come first.
 */
export const conditionsOf = (
  call: ConditionedCall,
  read: ReadMember,
  ofResource: Conditions | undefined,
): ConditionContext => {
  let ofCall: Conditions | undefined;
  return {
    get: (key) => {
      const own = ofResource?.get(key);
      if (own !== undefined) return own;
      const ofPrincipal = principalCondition(call.app.accounts ?? noOrganizations, call.caller, key);
      if (ofPrincipal !== undefined) return [ofPrincipal];
      // The others are read all at once, of which this key is none.
      if (isPrincipalCondition(key)) return undefined;
      ofCall ??= callConditions(call, read);
      return ofCall.get(key);
    },
  };
};

/** The tags of a resource as conditions. */
export const resourceTagConditions = (tags: Tags | undefined): Conditions =>
  new Map(Object.entries(tags ?? {}).map(([key, value]) => [`aws:resourcetag/${key.toLowerCase()}`, [value]]));

/** The tags of an entity of an account as conditions, under both of their keys. */
export const entityTagConditions = (tags: Tags | undefined): Conditions => {
  const own = [...resourceTagConditions(tags)];
  return new Map([...own, ...own.map(([key, values]) => [key.replace(/^aws:/, "iam:"), values] as const)]);
};

/** The condition keys of time, of the request's tags and members, and of its signature. */
const callConditions = (call: ConditionedCall, read: ReadMember): Conditions => {
  const { app, caller, method, prefix, spelling } = call;
  const nowMs = app.clock.now();
  const conditions = new Map<string, readonly string[]>();
  conditions.set("aws:currenttime", [new Date(nowMs).toISOString()]);
  conditions.set("aws:epochtime", [String(Math.floor(nowMs / 1000))]);
  if (app.region !== undefined) conditions.set("aws:requestedregion", [app.region]);
  const tags = requestTags(method, read);
  for (const [key, value] of tags.entries) conditions.set(`aws:requesttag/${key.toLowerCase()}`, [value]);
  if (tags.keys.length > 0) conditions.set("aws:tagkeys", tags.keys);
  const set = (key: string, values: readonly string[]): void => {
    if (values.length > 0) conditions.set(spelling.key(`${prefix}:${key}`).toLowerCase(), values);
  };
  for (const [key, value] of originConditions(caller)) set(key, value === undefined ? [] : [String(value)]);
  for (const member of methodPermissions(method).conditions) set(member.key, memberValues(member, read));
  return conditions;
};

/** How the original request was signed and sent, by the keys that every service has under its own prefix. */
const originConditions = ({ signatureVersion, authType, signatureAgeMs, tlsVersion }: Caller) =>
  [
    ["signatureversion", signatureVersion],
    ["authtype", authType],
    ["signatureage", signatureAgeMs],
    ["tlsversion", tlsVersion],
  ] as const;

const callKeys: ReadonlySet<string> = new Set([
  "aws:currenttime",
  "aws:epochtime",
  "aws:requestedregion",
  "aws:tagkeys",
]);

/**
 * Keys of the public dialect for what no request here comes from or passes: private networks, nested organizations,
 * codes of devices at the begin of sessions. Policies may name them, because they are absent there for most, too.
 */
const absentKeys: ReadonlySet<string> = new Set([
  "aws:calledvia",
  "aws:calledviafirst",
  "aws:calledvialast",
  "aws:multifactorauthage",
  "aws:principalorgpaths",
  "aws:sourceorgid",
  "aws:sourceorgpaths",
  "aws:sourcevpc",
  "aws:sourcevpcarn",
  "aws:sourcevpce",
  "aws:vpceaccount",
  "aws:vpceorgid",
  "aws:vpceorgpaths",
  "aws:vpcsourceip",
]);

/**
 * Whether the requests of a service with a region can have a condition key, in lower case and the public dialect, that
 * depends neither on its resources nor on members of one operation.
 */
export const isCallCondition = (key: string, { public: prefix }: ServiceNames): boolean =>
  callKeys.has(key) ||
  absentKeys.has(key) ||
  key.startsWith("aws:requesttag/") ||
  isPrincipalCondition(key) ||
  originConditions(anonymousCaller).some(([name]) => key === `${prefix}:${name}`);

const noOrganizations: Pick<Accounts, "findOrganizationId"> = { findOrganizationId: () => undefined };

/** The tags that a request sets, and the keys of those that it sets or removes. */
const requestTags = (
  method: DescMethod,
  read: ReadMember,
): { readonly entries: readonly (readonly [string, string])[]; readonly keys: readonly string[] } => {
  const has = (name: string): boolean => method.input.fields.some((field) => field.name === name);
  const tags = has("tags") ? read("tags") : undefined;
  const entries = Array.isArray(tags)
    ? (tags as readonly { readonly key?: string; readonly value?: string }[]).map(
        ({ key = "", value = "" }) => [key, value] as const,
      )
    : Object.entries((tags ?? {}) as Tags);
  const removed = has("tag_keys") ? ((read("tag_keys") ?? []) as readonly string[]) : [];
  return { entries, keys: [...entries.map(([key]) => key), ...removed] };
};

/** The values of a member; those of an enumeration in the spellings of both dialects. */
const memberValues = ({ path, enumeration }: ConditionMember, read: ReadMember): string[] => {
  const value = read(path);
  const values: readonly unknown[] = value === undefined ? [] : Array.isArray(value) ? value : [value];
  return values.flatMap((each) => {
    if (typeof each !== "string" && typeof each !== "number" && typeof each !== "boolean") return [];
    if (enumeration === undefined) return [String(each)];
    const spelled = enumSpellings(enumeration).findByNumber(each as number);
    if (spelled === undefined) return [];
    return [...new Set([spelled.publicValue.replace(/^svc:/, "aws:"), spelled.wireValue])];
  });
};
