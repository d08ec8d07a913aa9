import type { Caller } from "../identity/caller.ts";
import { roleArnOfSession } from "../policy/compiled.ts";
import type { Accounts } from "./accounts.ts";

/**
 * The condition keys of the caller, in lower case: `aws:principalarn` (of a session: the role's),
 * `aws:principalaccount`, `aws:principaltype`, `aws:principalorgid`, `aws:principaltag/…`, `aws:username`,
 * `aws:sourceidentity`, `aws:tokenissuetime`; of its request: `aws:sourceip`, `aws:securetransport`, `aws:useragent`,
 * `aws:referer`. A key that does not apply has no entry. `prefix` is the one of the service's own condition keys.
 */
export const principalConditions = (
  accounts: Pick<Accounts, "findOrganizationId">,
  caller: Caller,
  prefix = "aws",
): Map<string, readonly string[]> => {
  const conditions = new Map<string, readonly string[]>();
  const set = (key: string, value: string | undefined): void => {
    if (value !== undefined) conditions.set(`${prefix}:${key}`, [value]);
  };
  set("principaltype", principalType(caller));
  set("sourceip", caller.sourceIp);
  set("securetransport", caller.isSecureTransport === undefined ? undefined : String(caller.isSecureTransport));
  set("useragent", caller.userAgent);
  set("referer", caller.referer);
  if (caller.isAnonymous) return conditions;
  set("principalarn", roleArnOfSession(caller.principalArn) ?? caller.principalArn);
  set("principalaccount", caller.accountId);
  set("principalorgid", accounts.findOrganizationId(caller.accountId));
  for (const [key, value] of Object.entries(caller.principalTags ?? {}))
    set(`principaltag/${key.toLowerCase()}`, value);
  set("sourceidentity", caller.sourceIdentity);
  set("tokenissuetime", caller.tokenIssueTimeMs === undefined ? undefined : instant(caller.tokenIssueTimeMs));
  set("username", /^arn:[a-z0-9-]+:iam::\d{12}:user\/(?:.*\/)?([^/]+)$/.exec(caller.principalArn)?.[1]);
  return conditions;
};

const instant = (ms: number): string => new Date(ms).toISOString();

const principalType = (caller: Caller): string => {
  if (caller.isAnonymous) return "Anonymous";
  if (caller.isRoot) return "Account";
  return roleArnOfSession(caller.principalArn) === undefined ? "User" : "AssumedRole";
};
