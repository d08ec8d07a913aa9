import { serviceConditions } from "../identity/calling-service.ts";
import type { Caller } from "../identity/caller.ts";
import { roleArnOfSession } from "../policy/compiled.ts";
import type { Accounts } from "./accounts.ts";

type Organizations = Pick<Accounts, "findOrganizationId">;
type ReadCaller = (caller: Caller, accounts: Organizations) => string | undefined;

/** The keys that every request may have, less their prefix. */
const requestKeys: ReadonlyMap<string, ReadCaller> = new Map<string, ReadCaller>([
  ["principaltype", (caller) => principalType(caller)],
  ["sourceip", ({ sourceIp }) => sourceIp],
  ["securetransport", ({ isSecureTransport }) => isSecureTransport?.toString()],
  ["useragent", ({ userAgent }) => userAgent],
  ["referer", ({ referer }) => referer],
  ["principalisawsservice", ({ service }) => String(service !== undefined)],
  // No service calls another one with the credentials of whoever called it.
  ["viaawsservice", () => "false"],
]);

/** The keys that a request of somebody may have besides, and the tags, which are among them. */
const somebodysKeys: ReadonlyMap<string, ReadCaller> = new Map<string, ReadCaller>([
  ["principalarn", ({ principalArn, rolePath }) => roleArnOfSession(principalArn, rolePath) ?? principalArn],
  ["principalaccount", ({ accountId }) => accountId],
  ["principalorgid", ({ accountId }, accounts) => accounts.findOrganizationId(accountId)],
]);
const tagKeys = "principaltag/";
const sessionKeys: ReadonlyMap<string, ReadCaller> = new Map<string, ReadCaller>([
  ["sourceidentity", ({ sourceIdentity }) => sourceIdentity],
  ["tokenissuetime", ({ tokenIssueTimeMs: ms }) => (ms === undefined ? undefined : new Date(ms).toISOString())],
  // Sessions begin without a code of a device.
  ["multifactorauthpresent", ({ tokenIssueTimeMs }) => (tokenIssueTimeMs === undefined ? undefined : "false")],
  ["username", ({ principalArn }) => /^arn:[a-z0-9-]+:iam::\d{12}:user\/(?:.*\/)?([^/]+)$/.exec(principalArn)?.[1]],
]);

/** Whether a caller can have a value of a condition key, in lower case. */
export const isPrincipalCondition = (key: string): boolean => {
  const name = key.startsWith("aws:") ? key.slice(4) : "";
  return (
    [requestKeys, somebodysKeys, sessionKeys, serviceConditions].some((keys) => keys.has(name)) ||
    name.startsWith(tagKeys)
  );
};

/** The value of one of the keys of `principalConditions`; undefined for any other, and where it does not apply. */
export const principalCondition = (accounts: Organizations, caller: Caller, key: string): string | undefined => {
  if (!key.startsWith("aws:")) return undefined;
  const name = key.slice(4);
  const ofRequest = requestKeys.get(name);
  if (ofRequest !== undefined) return ofRequest(caller, accounts);
  if (caller.service !== undefined) return serviceConditions.get(name)?.(caller.service);
  if (caller.isAnonymous) return undefined;
  if (name.startsWith(tagKeys)) return findTag(caller, name.slice(tagKeys.length));
  return (somebodysKeys.get(name) ?? sessionKeys.get(name))?.(caller, accounts);
};

/** Of keys that differ only in their case, the last one counts. */
const findTag = ({ principalTags = {} }: Caller, wanted: string): string | undefined =>
  Object.entries(principalTags).findLast(([key]) => key.toLowerCase() === wanted)?.[1];

/**
 * The condition keys of the caller, in lower case: `aws:principalarn` (of a session: the role's),
 * `aws:principalaccount`, `aws:principaltype`, `aws:principalorgid`, `aws:principaltag/…`, `aws:username`,
 * `aws:sourceidentity`, `aws:tokenissuetime`, `aws:multifactorauthpresent`; of its request: `aws:sourceip`,
 * `aws:securetransport`, `aws:useragent`, `aws:referer`, `aws:principalisawsservice`, `aws:viaawsservice`. A key that
 * does not apply has no entry. `prefix` is the one of the service's own condition keys.
 */
export const principalConditions = (
  accounts: Organizations,
  caller: Caller,
  prefix = "aws",
): Map<string, readonly string[]> => {
  const conditions = new Map<string, readonly string[]>();
  const set = (key: string, value: string | undefined): void => {
    if (value !== undefined) conditions.set(`${prefix}:${key}`, [value]);
  };
  for (const [key, read] of requestKeys) set(key, read(caller, accounts));
  if (caller.service !== undefined) for (const [key, read] of serviceConditions) set(key, read(caller.service));
  if (caller.isAnonymous || caller.service !== undefined) return conditions;
  for (const [key, read] of somebodysKeys) set(key, read(caller, accounts));
  for (const [key, value] of Object.entries(caller.principalTags ?? {})) set(`${tagKeys}${key.toLowerCase()}`, value);
  for (const [key, read] of sessionKeys) set(key, read(caller, accounts));
  return conditions;
};

const principalType = (caller: Caller): string => {
  if (caller.isAnonymous) return "Anonymous";
  if (caller.service !== undefined) return "Service";
  if (caller.isRoot) return "Account";
  if (caller.federatedBy !== undefined) return "FederatedUser";
  return roleArnOfSession(caller.principalArn) === undefined ? "User" : "AssumedRole";
};
