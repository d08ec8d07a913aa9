import { readFileSync, statSync } from "node:fs";
import { link, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

import type { Clock } from "../clock/clock.ts";
import type { Ids } from "../ids/ids.ts";
import type { Logger } from "../log/log.ts";
import type { AccessKey, AccessKeys } from "./access-keys.ts";
import { AccessKeyFileError, defaultAccountId, formatAccessKeys, parseAccessKeys, parseKey } from "./access-keys.ts";

/** The gateway's credentials file, read again when it changes. */
export interface AccessKeyFile extends AccessKeys {
  readonly path: string;
  /** The root key that this start has just made, whose secret may be shown once; undefined on later starts. */
  readonly created: AccessKey | undefined;
  /** The id of a key that works, for a line that says how to connect. */
  readonly firstAccessKeyId: string | undefined;
}

export interface AccessKeyFileOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log?: Logger;
  /** `QUARTET_ACCESS_KEY_ID` and `QUARTET_SECRET_ACCESS_KEY` name a root key that works beside the file's and before them. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

const checkIntervalMs = 1_000;
const keyIdAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/**
 * Opens the credentials file. Where there is none, and the environment gives no key either, it is made with a root key
 * for account 000000000000 and mode 0600. A later change takes effect within a second; one that cannot be read is logged
 * and the last good keys stay. Throws AccessKeyFileError.
 */
export const openAccessKeyFile = async (options: AccessKeyFileOptions): Promise<AccessKeyFile> => {
  const { path, clock, ids, log } = options;
  const override = environmentKey(options.environment ?? {});
  const created = override === undefined ? await createUnlessPresent(path, ids) : undefined;
  let version = fileVersion(path);
  let keys = version === undefined ? new Map<string, AccessKey>() : readKeys(path);
  let checkedAtMs = clock.now();
  if (isOpenToOthers(path)) log?.warn({ path }, "the credentials file can be read by other users of this machine");
  const refresh = (): void => {
    if (Math.abs(clock.now() - checkedAtMs) < checkIntervalMs) return;
    checkedAtMs = clock.now();
    const latest = fileVersion(path);
    if (latest === version) return;
    version = latest;
    try {
      keys = latest === undefined ? new Map() : readKeys(path);
      log?.info({ path, accessKeys: keys.size }, "access keys were read again");
    } catch (error) {
      log?.error({ path, reason: error instanceof Error ? error.message : "unknown" }, "access keys were not read");
    }
  };
  return {
    path,
    created,
    firstAccessKeyId: override?.accessKeyId ?? keys.keys().next().value,
    find: (accessKeyId) => {
      if (override?.accessKeyId === accessKeyId) return override;
      refresh();
      return keys.get(accessKeyId);
    },
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

/** The whole file is linked into place, so that no reader meets half of it and of two starts one makes it. */
const createUnlessPresent = async (path: string, ids: Ids): Promise<AccessKey | undefined> => {
  if (fileVersion(path) !== undefined) return undefined;
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
    if (fileVersion(path) !== undefined) return undefined;
    throw error;
  } finally {
    await rm(temporaryPath, { force: true });
  }
};

/** Changes whenever the file is replaced or written; undefined when there is none. */
const fileVersion = (path: string): string | undefined => {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat === undefined ? undefined : `${stat.ino}-${stat.mtimeNs}-${stat.size}`;
};

const isOpenToOthers = (path: string): boolean =>
  ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0;

const readKeys = (path: string): Map<string, AccessKey> => {
  try {
    return new Map(parseAccessKeys(readFileSync(path, "utf8")).map((key) => [key.accessKeyId, key]));
  } catch (error) {
    if (!(error instanceof AccessKeyFileError)) throw error;
    throw new AccessKeyFileError(`${path} cannot be used: ${error.message}`);
  }
};
