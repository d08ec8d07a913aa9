import { PolicyError } from "../policy/document.ts";
import type { Caller } from "./caller.ts";
import { isAccountId, rootCaller, userCaller } from "./caller.ts";
import { areTooLargeToCarry, parseIdentityPolicy } from "./identity-policies.ts";

/** An access key, with which requests are signed. */
export interface AccessKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly accountId: string;
  /** The key's user; absent for the account itself. */
  readonly user?: string;
  /** The user's identity policies, JSON documents verbatim. */
  readonly policies: readonly string[];
  /** The document of the user's permissions boundary. Unset: it has none. */
  readonly permissionsBoundary?: string;
  /** The account's canonical id, if known. */
  readonly canonicalUserId?: string;
  /** The tags of the key's user. Unset: none. */
  readonly tags?: Readonly<Record<string, string>>;
  /** Of temporary credentials: who acts with them, without the id of the key. Unset: the user, or the account. */
  readonly principal?: Caller;
}

/** Finds access keys. */
export interface AccessKeys {
  find(accessKeyId: string): AccessKey | undefined;
  /**
   * The temporary key of a session token; undefined unless the token is of this installation and of this key, and its
   * role or user still exists. Unset: there are no temporary keys.
   */
  findTemporary?(accessKeyId: string, sessionToken: string): AccessKey | "expired" | undefined;
}

/** The beginning of the ids of temporary keys. */
export const temporaryKeyPrefix = "ASIA";

/** The account for which the first start creates a key. */
export const defaultAccountId = "000000000000";

/** The caller of a request that was signed with the key. */
export const callerOf = (key: AccessKey): Caller => ({
  ...(key.principal ?? lastingPrincipal(key)),
  ...(key.canonicalUserId === undefined ? {} : { canonicalUserId: key.canonicalUserId }),
  accessKeyId: key.accessKeyId,
});

const lastingPrincipal = ({ accountId, user, policies, permissionsBoundary, tags }: AccessKey): Caller => ({
  ...(user === undefined ? rootCaller(accountId) : userCaller(accountId, user, policies)),
  ...(permissionsBoundary === undefined ? {} : { permissionsBoundary }),
  ...(tags === undefined ? {} : { principalTags: tags }),
});

/** Keys that never change. */
export const fixedAccessKeys = (keys: readonly AccessKey[]): AccessKeys => {
  const byId = new Map(keys.map((key) => [key.accessKeyId, key]));
  return { find: (accessKeyId) => byId.get(accessKeyId) };
};

/**
 * Reads the text of a credentials file:
 * `{"version": 1, "accessKeys": [{"accessKeyId", "secretAccessKey", "accountId", "user"?, "policies"?}]}`.
 * A policy is a JSON document or its text. Throws AccessKeyFileError, which names the faulty member and quotes nothing.
 */
export const parseAccessKeys = (text: string): AccessKey[] => {
  const document = parseJson(text);
  if (!isRecord(document) || document["version"] !== 1) throw new AccessKeyFileError("version must be 1");
  refuseUnknown("the file", document, ["version", "accessKeys"]);
  const entries = document["accessKeys"];
  if (!Array.isArray(entries)) throw new AccessKeyFileError("accessKeys must be a list");
  const keys = entries.map((entry: unknown, index) => parseKey(entry, `accessKeys[${index}]`));
  const ids = new Set(keys.map((key) => key.accessKeyId));
  if (ids.size !== keys.length) throw new AccessKeyFileError("an accessKeyId occurs twice");
  return keys;
};

/** The text of a credentials file with these keys. */
export const formatAccessKeys = (accessKeys: readonly AccessKey[]): string =>
  `${JSON.stringify({ version: 1, accessKeys }, undefined, 2)}\n`;

/** A credentials file, or the environment that replaces it, is invalid. */
export class AccessKeyFileError extends Error {
  override readonly name = "AccessKeyFileError";
}

/** Checks one key; `place` says where it was declared. */
export const parseKey = (entry: unknown, place: string): AccessKey => {
  if (!isRecord(entry)) throw new AccessKeyFileError(`${place} must be an object`);
  refuseUnknown(place, entry, ["accessKeyId", "secretAccessKey", "accountId", "user", "policies"]);
  const { accessKeyId, secretAccessKey, accountId = defaultAccountId, user, policies = [] } = entry;
  if (typeof accessKeyId !== "string" || !accessKeyIdPattern.test(accessKeyId))
    throw new AccessKeyFileError(`${place}.accessKeyId must have 1 to 128 letters, digits, "_", "." or "-"`);
  if (typeof secretAccessKey !== "string" || secretAccessKey.length < secretAccessKeyLengthMin)
    throw new AccessKeyFileError(`${place}.secretAccessKey must have at least 8 characters`);
  if (typeof accountId !== "string" || !isAccountId(accountId))
    throw new AccessKeyFileError(`${place}.accountId must have 12 digits`);
  if (user !== undefined && (typeof user !== "string" || !userNamePattern.test(user)))
    throw new AccessKeyFileError(`${place}.user must have 1 to 128 letters, digits or "+=,.@_/-"`);
  if (!Array.isArray(policies)) throw new AccessKeyFileError(`${place}.policies must be a list`);
  return {
    accessKeyId,
    secretAccessKey,
    accountId,
    ...(user === undefined ? {} : { user }),
    policies: readPolicies(policies, `${place}.policies`),
  };
};

/** The form of an access key's id, a user's name and a secret, wherever they are declared. */
export const accessKeyIdPattern = /^[A-Za-z0-9_.-]{1,128}$/;
export const userNamePattern = /^[A-Za-z0-9+=,.@_/-]{1,128}$/;
export const secretAccessKeyLengthMin = 8;

const readPolicies = (given: readonly unknown[], place: string): string[] => {
  const texts = given.map((policy) => (typeof policy === "string" ? policy : JSON.stringify(policy)));
  for (const [index, text] of texts.entries()) {
    try {
      parseIdentityPolicy(text);
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      throw new AccessKeyFileError(`${place}[${index}]: ${error.message}`);
    }
  }
  if (areTooLargeToCarry(texts))
    throw new AccessKeyFileError(`${place} have more than 8 KiB together; declare the user in quartet.json`);
  return texts;
};

const refuseUnknown = (place: string, entry: Record<string, unknown>, known: readonly string[]): void => {
  const unknown = Object.keys(entry).filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new AccessKeyFileError(`${place} has unknown members: ${unknown.join(", ")}`);
};

/** The parser's message quotes the text, which holds secrets. */
const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new AccessKeyFileError("it is not JSON");
  }
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
