import { statSync } from "node:fs";
import { link, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

import type { Clock } from "../clock/clock.ts";
import { openWatched } from "../config/watched-files.ts";
import type { Ids } from "../ids/ids.ts";
import type { Logger } from "../log/log.ts";
import type { AccessKey, AccessKeys } from "./access-keys.ts";
import { AccessKeyFileError, defaultAccountId, formatAccessKeys, parseAccessKeys, parseKey } from "./access-keys.ts";

/** The credentials file, read again when it changes. */
export interface AccessKeyFile extends AccessKeys {
  readonly path: string;
  /** The root key that this start created, whose secret may be shown once; undefined on later starts. */
  readonly created: AccessKey | undefined;
  /** The id of a valid key, for a line that says how to connect. */
  readonly firstAccessKeyId: string | undefined;
  /** The ids of all keys that are valid now. */
  accessKeyIds(): readonly string[];
}

interface AccessKeyFileOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log?: Logger;
  /** `QUARTET_ACCESS_KEY_ID` and `QUARTET_SECRET_ACCESS_KEY` add a root key that precedes those of the file. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

const keyIdAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/**
 * Opens the credentials file. If it does not exist and the environment has no key either, creates it with a root key
 * for account 000000000000 and mode 0600. A later change takes effect within a second; an unreadable one is logged and
 * the last valid keys stay. Throws AccessKeyFileError.
 */
export const openAccessKeyFile = async (options: AccessKeyFileOptions): Promise<AccessKeyFile> => {
  const { path, clock, ids, log } = options;
  const override = environmentKey(options.environment ?? {});
  const created = override === undefined ? await createUnlessPresent(path, ids) : undefined;
  const keys = openWatched({
    read: (readText) => keysIn(path, readText(path)),
    clock,
    onChange: (latest) => log?.info({ path, accessKeys: latest.size }, "access keys were read again"),
    onFailure: (reason) => log?.error({ path, reason }, "access keys were not read"),
  });
  if (isOpenToOthers(path)) log?.warn({ path }, "the credentials file can be read by other users of this machine");
  return {
    path,
    created,
    firstAccessKeyId: override?.accessKeyId ?? keys.current().keys().next().value,
    accessKeyIds: () => [...(override === undefined ? [] : [override.accessKeyId]), ...keys.current().keys()],
    find: (accessKeyId) => (override?.accessKeyId === accessKeyId ? override : keys.current().get(accessKeyId)),
  };
};

const environmentKey = (environment: Readonly<Record<string, string | undefined>>): AccessKey | undefined => {
  const accessKeyId = environment["QUARTET_ACCESS_KEY_ID"];
  const secretAccessKey = environment["QUARTET_SECRET_ACCESS_KEY"];
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined;
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new AccessKeyFileError("QUARTET_ACCESS_KEY_ID and QUARTET_SECRET_ACCESS_KEY must be given together");
  return parseKey({ accessKeyId, secretAccessKey }, "the key of the environment");
};

/**
 * Links the whole file into place, so that no reader sees half of it and only one of two concurrent starts creates it.
 */
const createUnlessPresent = async (path: string, ids: Ids): Promise<AccessKey | undefined> => {
  if (isPresent(path)) return undefined;
  const key: AccessKey = {
    accessKeyId: `QKIA${ids.token(16, keyIdAlphabet)}`,
    secretAccessKey: ids.token(40),
    accountId: defaultAccountId,
    policies: [],
  };
  await mkdir(dirname(path), { recursive: true });
  const temporaryPath = `${path}.${process.pid}.${ids.hex(8)}.tmp`;
  try {
    await writeFile(temporaryPath, formatAccessKeys([key]), { flag: "wx", mode: 0o600, flush: true });
    await link(temporaryPath, path);
    return key;
  } catch (error) {
    if (isPresent(path)) return undefined;
    throw error;
  } finally {
    await rm(temporaryPath, { force: true });
  }
};

const isPresent = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

const isOpenToOthers = (path: string): boolean =>
  ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0;

/** A file that does not exist holds no keys. */
const keysIn = (path: string, text: string | undefined): ReadonlyMap<string, AccessKey> => {
  if (text === undefined) return new Map();
  try {
    return new Map(parseAccessKeys(text).map((key) => [key.accessKeyId, key]));
  } catch (error) {
    if (!(error instanceof AccessKeyFileError)) throw error;
    throw new AccessKeyFileError(`${path} cannot be used: ${error.message}`);
  }
};
