import { basename } from "node:path";

import type { Clock } from "../clock/clock.ts";
import { ConfigError } from "../config/config-error.ts";
import type { ConfigFilePath, Installation } from "../config/config-file.ts";
import { readConfigFile } from "../config/config-file.ts";
import { openWatched } from "../config/watched-files.ts";
import { areTooLargeToCarry, policiesDigest } from "../identity/identity-policies.ts";
import { tokenLifetimeMs } from "../identity/tokens.ts";
import type { Logger } from "../log/log.ts";
import type { Accounts, Declared } from "./accounts.ts";
import { accountsOf } from "./accounts.ts";
import { readDeclared } from "./read-declared.ts";

export interface AccountsFileOptions {
  readonly installation: Installation;
  readonly file: ConfigFilePath;
  readonly clock: Clock;
  readonly log?: Logger;
  /** The variables that hold secrets. Unset: this process needs no secrets, and finds no access keys. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

interface Read {
  readonly declared: Declared;
  readonly accounts: Accounts;
}

/**
 * Opens the accounts that the configuration file declares. A change of it, or of a file that it refers to, takes effect
 * within a second; one that cannot be used is logged and the last good declarations stay. Throws ConfigError when the
 * file cannot be used now.
 *
 * Large policies that were replaced or removed are found until the last token with their digest has expired: a token
 * keeps the meaning that it had when it was signed, and the gateway signs no more of them.
 */
export const openAccounts = (options: AccountsFileOptions): Accounts => {
  const { installation, file, clock, log, environment } = options;
  const retired = new Map<string, { readonly policies: readonly string[]; readonly untilMs: number }>();
  const watched = openWatched<Read>({
    read: (readText) => {
      const content = readConfigFile(installation, file, readText);
      const declared = withFileName(file, () => readDeclared(content, { path: file.path, readText, environment }));
      return { declared, accounts: accountsOf(declared) };
    },
    clock,
    onChange: ({ accounts }, former) => {
      const nowMs = clock.now();
      for (const [digest, { untilMs }] of retired) if (untilMs <= nowMs) retired.delete(digest);
      for (const { policies } of [...former.declared.users, ...former.declared.roles])
        if (areTooLargeToCarry(policies))
          retired.set(policiesDigest(policies), { policies, untilMs: nowMs + tokenLifetimeMs });
      log?.info({ path: file.path, accounts: accounts.list().length }, "accounts were read again");
    },
    onFailure: (reason) => log?.error({ path: file.path, reason }, "accounts were not read; the last good ones stay"),
  });
  const current = (): Accounts => watched.current().accounts;

  const findPolicies = (digest: string): readonly string[] | undefined => {
    const found = current().findPolicies(digest);
    if (found !== undefined) return found;
    // The process that signed the token may have read a newer file.
    watched.refresh();
    const old = retired.get(digest);
    return (
      current().findPolicies(digest) ?? (old !== undefined && clock.now() < old.untilMs ? old.policies : undefined)
    );
  };

  return {
    list: () => current().list(),
    canonicalUserId: (accountId) => current().canonicalUserId(accountId),
    listUsers: (accountId) => current().listUsers(accountId),
    listRoles: (accountId) => current().listRoles(accountId),
    findUser: (accountId, name) => current().findUser(accountId, name),
    findRole: (roleArn) => current().findRole(roleArn),
    findRoleByName: (accountId, name) => current().findRoleByName(accountId, name),
    findIdentityProvider: (accountId, issuer) => current().findIdentityProvider(accountId, issuer),
    listIdentityProviders: (accountId) => current().listIdentityProviders(accountId),
    findMfaDevice: (accountId, serial) => current().findMfaDevice(accountId, serial),
    findOrganizationId: (accountId) => current().findOrganizationId(accountId),
    findPolicies,
    findAccessKey: (accessKeyId) => current().findAccessKey(accessKeyId),
    accessKeyIds: () => current().accessKeyIds(),
  };
};

/** Adds the name of the file to a refusal. */
const withFileName = <T>(file: ConfigFilePath, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(`${basename(file.path)}: ${error.message}`);
  }
};
