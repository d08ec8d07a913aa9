import type { Transport } from "@connectrpc/connect";
import { Code, createClient } from "@connectrpc/connect";
import { LRUCache } from "lru-cache";

import { FaultRole } from "../../../gen/quartet/traits/v1/fault_pb.ts";
import type {
  DirectoryAccount,
  DirectoryChange,
  DirectoryRole,
  WatchDirectoryResponse,
} from "../../../gen/quartet/kit/directory/v1/directory_service_pb.ts";
import { DirectoryService } from "../../../gen/quartet/kit/directory/v1/directory_service_pb.ts";
import { follow } from "../client/follow.ts";
import type { Clock } from "../clock/clock.ts";
import { parseArn } from "../arn/arn.ts";
import { defaultAccountId } from "../identity/access-keys.ts";
import { rootCaller } from "../identity/caller.ts";
import { derivedCanonicalUserId } from "../identity/canonical-user-id.ts";
import { boundedPoliciesOf, policiesDigest } from "../identity/identity-policies.ts";
import type { Minter } from "../identity/tokens.ts";
import type { Logger } from "../log/log.ts";
import { PolicyError } from "../policy/document.ts";
import { ProtocolError } from "../wire/protocol-error.ts";
import type { Account, Accounts, Role } from "./accounts.ts";
import { roleKey } from "./accounts.ts";
import { entityArn, namedWithPath, roleOfArn } from "./entity-arn.ts";
import { parseTrustPolicy } from "./trust-policy.ts";

/** What was created at run time, as the gateway that keeps it shows it to services. */
export interface FollowedAccounts {
  /** False while it is unknown what was created: then nothing is found, and what is not found may exist. */
  isCurrent(): boolean;
  list(): readonly Account[];
  /** By its name without its path, in any case. */
  findRoleByName(accountId: string, name: string): Role | undefined;
  /**
   * The identity policies with this digest of a principal, by its ARN; undefined if it neither has nor recently had
   * them. Rejects with a ProtocolError of the role UNAVAILABLE if the gateway does not answer.
   */
  findPolicies(digest: string, principalArn: string): Promise<readonly string[] | undefined>;
  stop(): Promise<void>;
}

export interface FollowAccountsOptions {
  readonly transport: Transport;
  readonly minter: Minter;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The name of the gateway's own service in tokens. */
const audience = "identity";
const answerMsMax = 5_000;
const keptPoliciesBytesMax = 64 * 1024 * 1024;

interface Followed {
  readonly accounts: Map<string, Account>;
  /** By account and name in lower case: names that differ only in their case, or in their paths, are of one role. */
  readonly roles: Map<string, Role>;
}

/** Follows the accounts and roles that the gateway keeps, and fetches the policies to which tokens refer, each once. */
export const followAccounts = ({ transport, minter, clock, log }: FollowAccountsOptions): FollowedAccounts => {
  const client = createClient(DirectoryService, transport);
  const caller = { ...rootCaller(defaultAccountId), isPreauthorized: true };
  const headers = async () => ({ authorization: `Bearer ${await minter.mint(caller, audience)}` });
  let followed: Followed = { accounts: new Map(), roles: new Map() };
  let listed: readonly Account[] = [];

  const following = follow<WatchDirectoryResponse>({
    clock,
    log,
    what: "accounts and roles of the gateway",
    open: async (signal) => client.watchDirectory({}, { signal, headers: await headers() }),
    receiver: () => {
      const next: Followed = { accounts: new Map(), roles: new Map() };
      return ({ changes, isComplete }) => {
        for (const change of changes) apply(next, change, log);
        if (!isComplete) return false;
        followed = next;
        if (changes.length > 0 || listed.length !== next.accounts.size) listed = [...next.accounts.values()];
        return true;
      };
    },
  });

  const kept = new LRUCache<string, readonly string[]>({
    maxSize: keptPoliciesBytesMax,
    sizeCalculation: (policies) => policies.reduce((sum, policy) => sum + policy.length, 1),
  });
  const asked = new Map<string, Promise<readonly string[] | undefined>>();
  const fetchPolicies = async (digest: string, principalArn: string): Promise<readonly string[] | undefined> => {
    const options = { headers: await headers(), timeoutMs: answerMsMax };
    const { isKnown, documents } = await client
      .getPolicies({ digest, principalArn }, options)
      .catch((error: unknown) => {
        log.error({ err: error }, "the gateway did not answer which policies a token refers to");
        throw new ProtocolError(Code.Unavailable, "The caller's policies cannot be found now.", FaultRole.UNAVAILABLE);
      });
    if (!isKnown || policiesDigest(documents) !== digest) return undefined;
    kept.set(digest, documents);
    return documents;
  };

  return {
    isCurrent: () => following.isCurrent(),
    list: () => (following.isCurrent() ? listed : []),
    findRoleByName: (accountId, name) =>
      following.isCurrent() ? followed.roles.get(roleKey(accountId, name)) : undefined,
    findPolicies: (digest, principalArn) => {
      const known = kept.get(digest);
      if (known !== undefined) return Promise.resolve(known);
      // Principals with the same policies have the same digest, and each may be asked about by itself.
      const question = `${digest} ${principalArn}`;
      const running = asked.get(question) ?? fetchPolicies(digest, principalArn).finally(() => asked.delete(question));
      asked.set(question, running);
      return running;
    },
    stop: () => following.stop(),
  };
};

/**
 * The declared accounts together with those that were created at run time. What is declared hides what was created by
 * the same number or name.
 */
export const joinAccounts = (declared: Accounts, followed: FollowedAccounts): Accounts => {
  let joined: { readonly of: readonly (readonly Account[])[]; readonly list: readonly Account[] } | undefined;
  const findRoleByName = (accountId: string, name: string): Role | undefined =>
    declared.findRoleByName(accountId, name) ?? followed.findRoleByName(accountId, name);
  return {
    ...declared,
    list: () => {
      const of = [declared.list(), followed.list()];
      if (joined?.of.every((list, index) => list === of[index]) !== true) {
        const ids = new Set(of[0]?.map(({ id }) => id));
        joined = { of, list: [...(of[0] ?? []), ...(of[1] ?? []).filter(({ id }) => !ids.has(id))] };
      }
      return joined.list;
    },
    findRole: (roleArn) => roleOfArn(roleArn, findRoleByName),
    findRoleByName,
    knowsAllRoles: () => followed.isCurrent(),
  };
};

const apply = ({ accounts, roles }: Followed, { change }: DirectoryChange, log: Logger): void => {
  if (change.case === "account") accounts.set(change.value.id, accountOf(change.value));
  else if (change.case === "deletedAccountId") accounts.delete(change.value);
  else if (change.case === "deletedRoleArn") {
    const { account = "", resource = "" } = parseArn(change.value) ?? {};
    roles.delete(roleKey(account, namedWithPath(resource).name));
  } else if (change.case === "role") {
    const role = roleOf(change.value, log);
    const key = roleKey(change.value.accountId, change.value.name);
    if (role === undefined) roles.delete(key);
    else roles.set(key, role);
  }
};

const accountOf = ({ id, name, email }: DirectoryAccount): Account => ({
  id,
  name,
  email,
  canonicalUserId: derivedCanonicalUserId(id),
});

const arnOf = (role: DirectoryRole): string => entityArn(role.accountId, "role", role);

/** Undefined for a role whose trust policy cannot be read, for example one of a later version: nobody may assume it. */
const roleOf = (role: DirectoryRole, log: Logger): Role | undefined => {
  const { accountId, name, id, tags } = role;
  const own = boundedPoliciesOf(role.boundedPolicies) ?? { policies: role.policies };
  try {
    const trustPolicy = parseTrustPolicy(role.trustPolicy);
    return { accountId, name, arn: arnOf(role), id, trustPolicy, ...own, tags };
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    log.error({ err: error, role: arnOf(role) }, "the trust policy of a role cannot be read; nobody may assume it");
    return undefined;
  }
};
