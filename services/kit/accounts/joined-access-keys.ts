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
 * The keys of the credentials file and those that accounts declare, as one. An id that both have is refused: at the
 * start by ConfigError, later by being nobody's until one of them gives it up. A key of the credentials file that
 * belongs to a declared user carries the declared policies as well as its own.
 */
export const joinAccessKeys = ({ file, accounts, log }: JoinedAccessKeysOptions): AccessKeys => {
  const twice = file.accessKeyIds().find((id) => accounts.findAccessKey(id) !== undefined);
  if (twice !== undefined) throw new ConfigError(`access key ${twice} stands in the credentials file and in accounts`);
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
        log?.error({ accessKeyId }, "the access key stands in the credentials file and in accounts; it is refused");
        return undefined;
      }
      return declared ?? (filed === undefined ? undefined : complete(filed));
    },
  };
};
