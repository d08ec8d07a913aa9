import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { chmod, link, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { readTextFile } from "../config/text-file.ts";
import { makeDirectory } from "../files/directories.ts";
import { hasCode } from "../files/error-code.ts";

/** The algorithms of signatures, by their names in a token's header. Each key has one. */
export type SignatureAlgorithm = "EdDSA" | "ES384";

/** A key pair with which one process signs. */
export interface KeyPair {
  readonly name: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** The public keys of all processes, by issuer name. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

interface KeyKind {
  readonly title: string;
  /** The ends of its files' names. Earlier versions read all files that end with `.public.pem` as Ed25519 keys. */
  readonly privateSuffix: string;
  readonly publicSuffix: string;
  make(): { readonly privateKey: KeyObject };
}

const kinds: Readonly<Record<SignatureAlgorithm, KeyKind>> = {
  EdDSA: {
    title: "an Ed25519 key",
    privateSuffix: ".private.pem",
    publicSuffix: ".public.pem",
    make: () => generateKeyPairSync("ed25519"),
  },
  ES384: {
    title: "a P-384 key",
    privateSuffix: ".private.p384.pem",
    publicSuffix: ".public.p384.pem",
    make: () => generateKeyPairSync("ec", { namedCurve: "P-384" }),
  },
};

/** The algorithm of a key; undefined for one of another kind. */
export const algorithmOf = ({
  asymmetricKeyType,
  asymmetricKeyDetails,
}: Pick<KeyObject, "asymmetricKeyType" | "asymmetricKeyDetails">): SignatureAlgorithm | undefined => {
  if (asymmetricKeyType === "ed25519") return "EdDSA";
  return asymmetricKeyType === "ec" && asymmetricKeyDetails?.namedCurve === "secp384r1" ? "ES384" : undefined;
};

/** Of the file of one key, far above that of any. */
const keyBytesMax = 64 * 1024;

const namePattern = /^[a-z0-9][a-z0-9-]{0,63}$/;

/**
 * Loads the key pair `name`, or creates it. The private key is `<name>.private.pem` with mode 0600; verifiers read the
 * public key, `<name>.public.pem`; of a P-384 key they end with `.p384.pem`. Two processes that start at once get the
 * same pair.
 */
export const ensureKeyPair = async (
  directory: string,
  name: string,
  algorithm: SignatureAlgorithm = "EdDSA",
): Promise<KeyPair> => {
  if (!namePattern.test(name)) throw new Error(`"${name}" is not a name for a key pair: use a-z, 0-9 and hyphens`);
  await makeDirectory(directory, 0o700);
  const { privateSuffix, publicSuffix } = kinds[algorithm];
  const privatePath = join(directory, `${name}${privateSuffix}`);
  const privateKey =
    (await findPrivateKey(privatePath, algorithm)) ?? (await createPrivateKeyFile(privatePath, algorithm));
  const publicKey = createPublicKey(privateKey);
  await publish(join(directory, `${name}${publicSuffix}`), publicKey);
  return { name, privateKey, publicKey };
};

/**
 * All public keys in the directory; none if it does not exist. Throws, naming the file, if one is not of the kind that
 * its name says.
 */
export const readPublicKeys = async (directory: string): Promise<PublicKeys> => {
  const files = await readdir(directory).catch(whenAbsent([]));
  const keys = new Map<string, KeyObject>();
  for (const file of files.filter((each) => each.endsWith(".pem")).toSorted()) {
    const algorithm = algorithms.find((each) => file.endsWith(kinds[each].publicSuffix));
    if (algorithm === undefined) continue;
    const text = readTextFile(join(directory, file), keyBytesMax);
    if (text === undefined) continue;
    const name = file.slice(0, -kinds[algorithm].publicSuffix.length);
    keys.set(
      name,
      keyOf(algorithm, file, () => createPublicKey(text)),
    );
  }
  return keys;
};

/** Names a key by its content, so that a replaced key differs from its predecessor. */
export const keyId = (publicKey: KeyObject): string =>
  createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("base64url")
    .slice(0, 16);

const algorithms = Object.keys(kinds) as SignatureAlgorithm[];

const findPrivateKey = async (path: string, algorithm: SignatureAlgorithm): Promise<KeyObject | undefined> => {
  const text = readTextFile(path, keyBytesMax);
  if (text === undefined) return undefined;
  await chmod(path, 0o600);
  return keyOf(algorithm, path, () => createPrivateKey(text));
};

/** A hard link fails if the name exists, so that one of two concurrent creations wins with a whole file. */
const createPrivateKeyFile = async (path: string, algorithm: SignatureAlgorithm): Promise<KeyObject> => {
  const { privateKey } = kinds[algorithm].make();
  const temporaryPath = await writeTemporary(
    path,
    privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    0o600,
  );
  try {
    await link(temporaryPath, path);
    return privateKey;
  } catch (error) {
    const existing = hasCode(error, "EEXIST") ? await findPrivateKey(path, algorithm) : undefined;
    if (existing === undefined) throw error;
    return existing;
  } finally {
    await rm(temporaryPath, { force: true });
  }
};

const publish = async (path: string, publicKey: KeyObject): Promise<void> => {
  const text = publicKey.export({ type: "spki", format: "pem" }).toString();
  if (readTextFile(path, keyBytesMax) === text) return;
  await rename(await writeTemporary(path, text, 0o644), path);
};

const writeTemporary = async (path: string, text: string, mode: number): Promise<string> => {
  const temporaryPath = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}.tmp`;
  await writeFile(temporaryPath, text, { flag: "wx", mode, flush: true });
  return temporaryPath;
};

/** Drops the parser's own error, because it may quote the file. */
const keyOf = (algorithm: SignatureAlgorithm, path: string, read: () => KeyObject): KeyObject => {
  let key: KeyObject | undefined;
  try {
    key = read();
  } catch {
    key = undefined;
  }
  if (key === undefined || algorithmOf(key) !== algorithm) throw new Error(`${path} is not ${kinds[algorithm].title}`);
  return key;
};

const whenAbsent =
  <T>(instead: T) =>
  (error: unknown): T => {
    if (hasCode(error, "ENOENT")) return instead;
    throw error;
  };
