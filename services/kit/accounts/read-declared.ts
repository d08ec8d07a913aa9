import { dirname, resolve } from "node:path";

import { ConfigError } from "../config/config-error.ts";
import type { ConfigFile } from "../config/config-file.ts";
import { memberPlace, readValue } from "../config/read-value.ts";
import type { ReadText } from "../config/watched-files.ts";
import type { AccessKey } from "../identity/access-keys.ts";
import { secretAccessKeyLengthMin } from "../identity/access-keys.ts";
import { derivedCanonicalUserId } from "../identity/canonical-user-id.ts";
import { parseIdentityPolicy } from "../identity/identity-policies.ts";
import type { Policy } from "../policy/document.ts";
import { PolicyError } from "../policy/document.ts";
import { identityGrammarProblem } from "../policy/identity-grammar.ts";
import { parseJson } from "../json/parse-json.ts";
import type { Account, Declared, IdentityProvider, MfaDevice, Role, User } from "./accounts.ts";
import type {
  DeclaredAccessKey,
  DeclaredAccount,
  DeclaredMfaDevice,
  DeclaredPolicy,
  DeclaredUser,
} from "./declaration.ts";
import { accountSections } from "./declaration.ts";
import { entityArn, namedWithPath } from "./entity-arn.ts";
import { providerArn } from "./provider-arn.ts";
import { parseTrustPolicy } from "./trust-policy.ts";

/** The files and variables that the declarations refer to. */
export interface DeclaredSources {
  /** The configuration file, against whose directory paths are resolved. */
  readonly path: string;
  readonly readText: ReadText;
  /** The variables that hold secrets. Undefined: secrets are not read. */
  readonly environment: Readonly<Record<string, string | undefined>> | undefined;
}

/**
 * Reads the declarations of a configuration file, with the policies and secrets that they refer to. Throws ConfigError
 * for duplicates, an invalid policy and a missing file or variable; no message quotes a secret.
 */
export const readDeclared = (file: ConfigFile, sources: DeclaredSources): Declared => {
  const accounts = Object.entries(readValue(accountSections.accounts, file["accounts"] ?? {}, "accounts"));
  const declared = {
    accounts: accounts.map(([id, account]) => readAccount(id, account)),
    users: accounts.flatMap(([id, { users = [] }]) =>
      users.map((user, index) => readUser(id, user, `${memberPlace("accounts", id)}.users[${index}]`, sources)),
    ),
    roles: readRoles(file, sources),
    mfaDevices: accounts.flatMap(([id, { mfaDevices = [] }]) =>
      mfaDevices.map((device, index) =>
        readMfaDevice(id, device, `${memberPlace("accounts", id)}.mfaDevices[${index}].secret`, sources),
      ),
    ),
    identityProviders: readIdentityProviders(file, sources),
    organizations: readOrganizations(file),
  };
  refuseDuplicates(declared);
  const accessKeys = accounts.flatMap(([id, account]) => readAccessKeys(id, account, declared.users, sources));
  refuseTwice(accessKeys.map(({ accessKeyId }) => `access key ${accessKeyId}`));
  return { ...declared, accessKeys: sources.environment === undefined ? [] : accessKeys };
};

const readAccount = (id: string, { name, email, canonicalId }: DeclaredAccount): Account => ({
  id,
  name,
  email,
  canonicalUserId: canonicalId ?? derivedCanonicalUserId(id),
});

const readUser = (accountId: string, user: DeclaredUser, path: string, sources: DeclaredSources): User => ({
  accountId,
  name: user.name,
  policies: readIdentityPolicies(user.policies ?? [], `${path}.policies`, sources),
  ...(user.tags === undefined ? {} : { tags: user.tags }),
});

const readMfaDevice = (
  accountId: string,
  { serial, secret }: DeclaredMfaDevice,
  path: string,
  sources: DeclaredSources,
): MfaDevice => {
  const found = typeof secret === "string" ? secret : readReferred(secret.file, path, sources).trim();
  const decoded = decodeBase32(found);
  if (decoded === undefined || decoded.length < mfaSecretBytesMin)
    throw new ConfigError(`${path}: the secret must be at least 16 characters of base32`);
  return { accountId, serial, secret: decoded };
};

/** 16 characters. */
const mfaSecretBytesMin = 10;

/** The bytes of a text in the alphabet of RFC 4648, in either case; undefined if it is none. */
const decodeBase32 = (text: string): Uint8Array | undefined => {
  const digits = text.replace(/=+$/, "").toUpperCase();
  if (!/^[A-Z2-7]+$/.test(digits)) return undefined;
  const bytes: number[] = [];
  let [bits, held] = [0, 0];
  for (const digit of digits) {
    bits = ((bits << 5) | "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(digit)) & 0xfff;
    held += 5;
    if (held >= 8) {
      held -= 8;
      bytes.push((bits >> held) & 0xff);
    }
  }
  return Uint8Array.from(bytes);
};

const readRoles = (file: ConfigFile, sources: DeclaredSources): readonly Role[] =>
  readValue(accountSections.roles, file["roles"] ?? [], "roles").map((role, index) => {
    const path = `roles[${index}]`;
    return {
      accountId: role.account,
      name: namedWithPath(role.name).name,
      arn: entityArn(role.account, "role", namedWithPath(role.name)),
      trustPolicy: checked(readPolicy(role.trustPolicy, `${path}.trustPolicy`, sources), parseTrustPolicy),
      policies: readIdentityPolicies(role.policies ?? [], `${path}.policies`, sources),
      ...(role.tags === undefined ? {} : { tags: role.tags }),
      ...(role.maxSessionSeconds === undefined ? {} : { sessionSecondsMax: role.maxSessionSeconds }),
    };
  });

const readIdentityProviders = (file: ConfigFile, sources: DeclaredSources): readonly IdentityProvider[] =>
  readValue(accountSections.identityProviders, file["identityProviders"] ?? [], "identityProviders").map(
    ({ account, issuer, audiences, keys }, index) => ({
      accountId: account,
      arn: providerArn(account, issuer),
      issuer,
      audiences,
      ...(keys === undefined ? {} : { keys: readKeySet(keys, `identityProviders[${index}].keys`, sources) }),
    }),
  );

const readKeySet = (
  given: string | { readonly keys: readonly object[] },
  path: string,
  sources: DeclaredSources,
): { readonly keys: readonly object[] } => {
  if (typeof given !== "string") return given;
  let parsed: unknown;
  try {
    parsed = parseJson(readReferred(given, path, sources));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`${path} (${given}): it is not JSON`);
  }
  const keys = (parsed as { readonly keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys)) throw new ConfigError(`${path} (${given}): keys must be a list`);
  return { keys: keys as readonly object[] };
};

const readOrganizations = (file: ConfigFile): ReadonlyMap<string, readonly string[]> =>
  new Map(
    Object.entries(readValue(accountSections.organizations, file["organizations"] ?? {}, "organizations")).map(
      ([id, { accounts }]) => [id, accounts] as const,
    ),
  );

interface PolicyText {
  readonly text: string;
  readonly path: string;
}

const readPolicy = (given: DeclaredPolicy, path: string, sources: DeclaredSources): PolicyText => {
  if (typeof given !== "string") return { text: JSON.stringify(given), path };
  return { text: readReferred(given, path, sources), path: `${path} (${given})` };
};

const readReferred = (name: string, path: string, sources: DeclaredSources): string => {
  const file = resolve(dirname(sources.path), name);
  let text: string | undefined;
  try {
    text = sources.readText(file);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // The file as it is written there.
    throw new ConfigError(`${path}: ${error.message.replace(file, () => name)}`, { cause: error });
  }
  if (text === undefined) throw new ConfigError(`${path}: there is no file ${name}`);
  return text;
};

const readIdentityPolicies = (
  given: readonly DeclaredPolicy[],
  path: string,
  sources: DeclaredSources,
): readonly string[] =>
  given.map((each, index) => {
    const policy = readPolicy(each, `${path}[${index}]`, sources);
    const problem = identityGrammarProblem(checked(policy, parseIdentityPolicy));
    if (problem !== undefined) throw new ConfigError(`${policy.path}: ${problem}`);
    return policy.text;
  });

const checked = ({ text, path }: PolicyText, parse: (text: string) => Policy): Policy => {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    throw new ConfigError(`${path}: ${error.message}`);
  }
};

const readAccessKeys = (
  accountId: string,
  account: DeclaredAccount,
  users: readonly User[],
  sources: DeclaredSources,
): AccessKey[] => {
  const path = memberPlace("accounts", accountId);
  const canonicalUserId = account.canonicalId ?? derivedCanonicalUserId(accountId);
  const read = (
    keys: readonly DeclaredAccessKey[],
    place: string,
    owner: Pick<AccessKey, "user" | "policies" | "tags">,
  ) =>
    keys.map(({ id, secret }, index) => ({
      accessKeyId: id,
      secretAccessKey: readSecret(secret, `${place}.accessKeys[${index}].secret`, sources),
      accountId,
      ...owner,
      canonicalUserId,
    }));
  const ofUsers = (account.users ?? []).flatMap(({ name, accessKeys = [] }, index) => {
    // The same array as the user's, so that its digest is computed once.
    const user = users.find((each) => each.accountId === accountId && each.name === name);
    const tags = user?.tags === undefined ? {} : { tags: user.tags };
    return read(accessKeys, `${path}.users[${index}]`, { user: name, policies: user?.policies ?? [], ...tags });
  });
  return [...read(account.accessKeys ?? [], path, { policies: [] }), ...ofUsers];
};

const readSecret = (secret: DeclaredAccessKey["secret"], path: string, sources: DeclaredSources): string => {
  if (typeof secret === "string" || sources.environment === undefined) return typeof secret === "string" ? secret : "";
  const found =
    secret.environment === undefined
      ? readReferred(secret.file ?? "", path, sources).replace(/\r?\n$/, "")
      : sources.environment[secret.environment];
  if (found === undefined) throw new ConfigError(`${path}: the environment has no ${secret.environment}`);
  if (found.length < secretAccessKeyLengthMin)
    throw new ConfigError(`${path}: the secret must have at least ${secretAccessKeyLengthMin} characters`);
  return found;
};

/** Names and ids are unique. */
const refuseDuplicates = (declared: Omit<Declared, "accessKeys">): void => {
  const { accounts, users, roles, identityProviders, organizations, mfaDevices } = declared;
  refuseTwice(
    users.map(({ accountId, name }) => `user ${name} of ${accountId}`),
    roles.map(({ accountId, name }) => `role ${name.toLowerCase()} of ${accountId}`),
    (identityProviders ?? []).map(({ arn }) => `identity provider ${arn}`),
    (mfaDevices ?? []).map(({ serial }) => `MFA device ${serial}`),
    accounts.map(({ canonicalUserId }) => `canonical id ${canonicalUserId}`),
    accounts.flatMap(({ email }) => (email === undefined ? [] : [`e-mail ${email.toLowerCase()}`])),
    [...organizations.values()].flat().map((id) => `account ${id} in organizations`),
  );
};

const refuseTwice = (...lists: readonly (readonly string[])[]): void => {
  for (const list of lists) {
    const seen = new Set<string>();
    for (const each of list) {
      if (seen.has(each)) throw new ConfigError(`${each} is declared twice`);
      seen.add(each);
    }
  }
};
