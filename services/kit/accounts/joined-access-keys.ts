import { ConfigError } from "../config/config-error.ts";
import type { AccessKeyFile } from "../identity/access-key-file.ts";
import type { AccessKey, AccessKeys } from "../identity/access-keys.ts";
import type { Logger } from "../log/log.ts";
import type { Accounts } from "./accounts.ts";

export interface JoinedAccessKeysOptions {
  /** The credentials file, with the key of the environment. */
  readonly file: Pick<AccessKeyFile, "find" | "accessKeyIds">;
  readonly accounts: Accounts;
  readonly log?: Logger;
}

/**
 * The keys of the credentials file together with those that accounts declare. Throws ConfigError for an id that both
 * have; if that happens later, the key is not found until one of the files drops it. A key of the credentials file that
 * belongs to a declared user has the declared policies as well as its own.
 */
export const joinAccessKeys = ({ file, accounts, log }: JoinedAccessKeysOptions): AccessKeys => {
  const twice = file.accessKeyIds().find((id) => accounts.findAccessKey(id) !== undefined);
  if (twice !== undefined) throw new ConfigError(`access key ${twice} is in the credentials file and in accounts`);
  const completed = new WeakMap<AccessKey, { readonly key: AccessKey; readonly declared: readonly string[] }>();

  const complete = (key: AccessKey): AccessKey => {
    const declared = key.user === undefined ? [] : (accounts.findUser(key.accountId, key.user)?.policies ?? []);
    const canonicalUserId = accounts.canonicalUserId(key.accountId);
    const known = completed.get(key);
    if (known?.declared === declared && known.key.canonicalUserId === canonicalUserId) return known.key;
    const policies = declared.length === 0 ? key.policies : [...declared, ...key.policies];
    const whole = { ...key, policies, canonicalUserId };
    completed.set(key, { key: whole, declared });
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
  };
};
