import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { chmod, link, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { makeDirectory } from "../process/make-directory.ts";

/** The Ed25519 key pair with which one process signs. */
export interface KeyPair {
  readonly name: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** The public keys of all processes, by issuer name. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

const publicSuffix = ".public.pem";
const namePattern = /^[a-z0-9][a-z0-9-]{0,63}$/;

/**
 * Loads the key pair `name`, or creates it. The private key is `<name>.private.pem` with mode 0600; verifiers read the
 * public key, `<name>.public.pem`. Two processes that start at once get the same pair.
 */
export const ensureKeyPair = async (directory: string, name: string): Promise<KeyPair> => {
  if (!namePattern.test(name)) throw new Error(`"${name}" is not a name for a key pair: use a-z, 0-9 and hyphens`);
  await makeDirectory(directory, 0o700);
  const privatePath = join(directory, `${name}.private.pem`);
  const privateKey = (await findPrivateKey(privatePath)) ?? (await createPrivateKeyFile(privatePath));
  const publicKey = createPublicKey(privateKey);
  await publish(join(directory, `${name}${publicSuffix}`), publicKey);
  return { name, privateKey, publicKey };
};

/**
 * All public keys in the directory; none if it does not exist. Throws, naming the file, if one is not an Ed25519 key.
 */
export const readPublicKeys = async (directory: string): Promise<PublicKeys> => {
  const files = await readdir(directory).catch(whenAbsent([]));
  const keys = new Map<string, KeyObject>();
  for (const file of files.filter((each) => each.endsWith(publicSuffix)).toSorted()) {
    const text = await readFile(join(directory, file), "utf8").catch(whenAbsent(undefined));
    if (text !== undefined)
      keys.set(
        file.slice(0, -publicSuffix.length),
        ed25519(file, () => createPublicKey(text)),
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

const findPrivateKey = async (path: string): Promise<KeyObject | undefined> => {
  const text = await readFile(path, "utf8").catch(whenAbsent(undefined));
  if (text === undefined) return undefined;
  await chmod(path, 0o600);
  return ed25519(path, () => createPrivateKey(text));
};

/** A hard link fails if the name exists, so that one of two concurrent creations wins with a whole file. */
const createPrivateKeyFile = async (path: string): Promise<KeyObject> => {
  const { privateKey } = generateKeyPairSync("ed25519");
  const temporaryPath = await writeTemporary(
    path,
    privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    0o600,
  );
  try {
    await link(temporaryPath, path);
    return privateKey;
  } catch (error) {
    const existing = isCode(error, "EEXIST") ? await findPrivateKey(path) : undefined;
    if (existing === undefined) throw error;
    return existing;
  } finally {
    await rm(temporaryPath, { force: true });
  }
};

const publish = async (path: string, publicKey: KeyObject): Promise<void> => {
  const text = publicKey.export({ type: "spki", format: "pem" }).toString();
  if ((await readFile(path, "utf8").catch(whenAbsent(undefined))) === text) return;
  await rename(await writeTemporary(path, text, 0o644), path);
};

const writeTemporary = async (path: string, text: string, mode: number): Promise<string> => {
  const temporaryPath = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}.tmp`;
  await writeFile(temporaryPath, text, { flag: "wx", mode, flush: true });
  return temporaryPath;
};

/** Drops the parser's own error, because it may quote the file. */
const ed25519 = (path: string, read: () => KeyObject): KeyObject => {
  let key: KeyObject | undefined;
  try {
    key = read();
  } catch {
    key = undefined;
  }
  if (key?.asymmetricKeyType !== "ed25519") throw new Error(`${path} is not an Ed25519 key`);
  return key;
};

const whenAbsent =
  <T>(instead: T) =>
  (error: unknown): T => {
    if (isCode(error, "ENOENT")) return instead;
    throw error;
  };

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;
