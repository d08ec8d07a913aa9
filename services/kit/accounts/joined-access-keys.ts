import { LRUCache } from "lru-cache";

import { ConfigError } from "../config/config-error.ts";
import type { AccessKeyFile } from "../identity/access-key-file.ts";
import type { AccessKey, AccessKeys } from "../identity/access-keys.ts";
import { areTooLargeToCarry, policiesDigest } from "../identity/identity-policies.ts";
import type { Logger } from "../log/log.ts";
import type { Accounts } from "./accounts.ts";

export interface JoinedAccessKeysOptions {
  /** The credentials file, with the key of the environment. */
  readonly file: Pick<AccessKeyFile, "find" | "accessKeyIds">;
  readonly accounts: Accounts;
  readonly log?: Logger;
}

/** The keys of both, and the policies of those that a token names by their digest. */
export interface JoinedAccessKeys extends AccessKeys {
  /**
   * The policies with this digest of a key of the credentials file whose user is declared, as they are now or recently
   * were.
   */
  findPolicies(digest: string): readonly string[] | undefined;
}

const largeListsMax = 1_000;

const noPolicies: readonly string[] = [];

/**
 * The keys of the credentials file together with those that accounts declare. Throws ConfigError for an id that both
 * have; if that happens later, the key is not found until one of the files drops it. A key of the credentials file that
 * belongs to a declared user has the declared policies as well as its own.
 */
export const joinAccessKeys = ({ file, accounts, log }: JoinedAccessKeysOptions): JoinedAccessKeys => {
  const twice = file.accessKeyIds().find((id) => accounts.findAccessKey(id) !== undefined);
  if (twice !== undefined) throw new ConfigError(`access key ${twice} is in the credentials file and in accounts`);
  const completed = new WeakMap<AccessKey, { readonly key: AccessKey; readonly declared: readonly string[] }>();
  const large = new LRUCache<string, readonly string[]>({ max: largeListsMax });

  const complete = (key: AccessKey): AccessKey => {
    const user = key.user === undefined ? undefined : accounts.findUser(key.accountId, key.user);
    const declared = user?.policies ?? noPolicies;
    const canonicalUserId = accounts.canonicalUserId(key.accountId);
    const known = completed.get(key);
    if (known?.declared === declared && known.key.canonicalUserId === canonicalUserId) return known.key;
    const policies = declared.length === 0 ? key.policies : [...declared, ...key.policies];
    const whole = { ...key, policies, canonicalUserId };
    completed.set(key, { key: whole, declared });
    if (areTooLargeToCarry(policies)) large.set(policiesDigest(policies), policies);
    return whole;
  };

  return {
    find: (accessKeyId) => {
      const declared = accounts.findAccessKey(accessKeyId);
      const filed = file.find(accessKeyId);
      if (declared !== undefined && filed !== undefined) {
        log?.error({ accessKeyId }, "the access key is in the credentials file and in accounts; it is refused");
        return undefined;
      }
      return declared ?? (filed === undefined ? undefined : complete(filed));
    },
    findPolicies: (digest) => {
      const known = large.get(digest);
      if (known !== undefined) return known;
      // The key may have been used at another gateway only.
      for (const filed of file.accessKeyIds().map((id) => file.find(id))) if (filed !== undefined) complete(filed);
      return large.get(digest);
    },
  };
};
