import { hkdfSync, randomBytes } from "node:crypto";
import type { Stats } from "node:fs";
import { closeSync, fsyncSync, openSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { access, link, mkdir, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import type { Clock } from "../clock/clock.ts";
import { readTextFile } from "../config/text-file.ts";
import { openWatched } from "../config/watched-files.ts";
import { hasCode } from "../files/error-code.ts";
import type { Logger } from "../log/log.ts";

/** A key that wraps data keys. */
export interface MasterKey {
  /** From 1 upwards, in the order of creation. */
  readonly version: number;
  /** 16 hexadecimal digits of a digest of the key: it names the key and reveals nothing about it. */
  readonly id: string;
  /** 32 bytes. */
  readonly key: Buffer;
}

/** The keys that wrap all data keys: new ones with the latest; the older ones still unwrap. */
export interface MasterKeys {
  latest(): MasterKey;
  find(id: string): MasterKey | undefined;
  /** True if there are older ones than the latest. */
  hasOlder(): boolean;
}

const masterKeyBytes = 32;

/** A file of master keys is invalid. The message quotes nothing of it. */
export class MasterKeysError extends Error {
  override readonly name = "MasterKeysError";
}

/** The path of a service's master keys. */
export const masterKeysFile = (serviceDirectory: string): string => join(serviceDirectory, "master.keys");

/** Given master keys, the oldest first. */
export const fixedMasterKeys = (keys: readonly Uint8Array[]): MasterKeys =>
  keysOf(keys.map((key, index) => masterKey(index + 1, Buffer.from(key))));

interface MasterKeysOptions {
  readonly clock: Clock;
  readonly log?: Logger;
  /** True if stored data needs the file, so that it must not be created. */
  readonly isNeeded?: boolean;
}

/**
 * Opens a file of master keys, or creates it with a first key and mode 0600. A line is `<version> <base64 of 32
 * bytes>`. Losing the file loses everything that is wrapped, so an unreadable one is never replaced. A change takes
 * effect within a second; an invalid one, or one without the key in use, is logged and the former keys stay. Throws
 * MasterKeysError.
 */
export const openMasterKeys = async (path: string, options: MasterKeysOptions): Promise<MasterKeys> => {
  const { clock, log, isNeeded = false } = options;
  if (!isNeeded) await makeFile(path);
  let inUse: string | undefined;
  const watched = openWatched<MasterKeys>({
    read: (readText) => {
      const text = readText(path);
      if (text === undefined) throw new MasterKeysError(`${path} is missing; without it stored data cannot be read`);
      const keys = keysOf(parse(path, text));
      if (inUse !== undefined && keys.find(inUse) === undefined)
        throw new MasterKeysError(`${path} lacks the master key that is in use`);
      // A key must not wrap anything before it is durable.
      syncSync(path);
      syncSync(dirname(path));
      inUse = keys.latest().id;
      return keys;
    },
    clock,
    onChange: (keys) => log?.info({ path, version: keys.latest().version }, "master keys were read again"),
    onFailure: (reason) => log?.error({ path, reason }, "master keys were not read; the last good ones stay"),
  });
  return {
    latest: () => watched.current().latest(),
    find: (id) => watched.current().find(id),
    hasOlder: () => watched.current().hasOlder(),
  };
};

/**
 * Adds a key, which becomes the latest. Data keys of older ones can still be opened. The file keeps its owner and mode,
 * so that its service can read it also if root adds the key. Of two concurrent additions one fails. Throws
 * MasterKeysError.
 */
export const addMasterKey = async (path: string): Promise<MasterKey> => {
  const nextPath = `${path}.next`;
  const file = await open(nextPath, "wx", 0o600).catch((error: unknown) => {
    if (hasCode(error, "ENOENT")) throw new MasterKeysError(`there is no ${path}`);
    if (!hasCode(error, "EEXIST")) throw error;
    throw new MasterKeysError(`another key is being added; remove ${nextPath} if that was cut off`);
  });
  try {
    const text = readTextFile(path);
    if (text === undefined) throw new MasterKeysError(`there is no ${path}`);
    const added = masterKey(keysOf(parse(path, text)).latest().version + 1, randomBytes(masterKeyBytes));
    await keepOwner(file, await stat(path));
    await file.writeFile(`${text}${text.endsWith("\n") ? "" : "\n"}${formatLine(added)}`);
    await file.sync();
    await rename(nextPath, path);
    syncSync(dirname(path));
    return added;
  } finally {
    await file.close();
    await rm(nextPath, { force: true });
  }
};

/** Gives a file the owner, group and mode of another. */
const keepOwner = async (file: FileHandle, { uid, gid, mode }: Stats): Promise<void> => {
  const own = await file.stat();
  if (own.uid !== uid || own.gid !== gid) await file.chown(uid, gid);
  await file.chmod(mode & 0o777);
};

const masterKey = (version: number, key: Buffer): MasterKey => ({
  version,
  id: Buffer.from(hkdfSync("sha256", key, "", "quartet master key id", 8)).toString("hex"),
  key,
});

const keysOf = (keys: readonly MasterKey[]): MasterKeys => {
  const [first] = keys;
  if (first === undefined) throw new MasterKeysError("there is no master key");
  const byId = new Map(keys.map((key) => [key.id, key]));
  const latest = keys.reduce((one, other) => (other.version > one.version ? other : one), first);
  return { latest: () => latest, find: (id) => byId.get(id), hasOlder: () => byId.size > 1 };
};

const formatLine = ({ version, key }: MasterKey): string => `${version} ${key.toString("base64")}\n`;

const parse = (path: string, text: string): readonly MasterKey[] => {
  const keys = new Map<number, MasterKey>();
  for (const line of text.split("\n").filter((each) => each.trim() !== "")) {
    const parts = /^([1-9]\d{0,8}) ([A-Za-z0-9+/]{43}=)$/.exec(line.trim());
    const version = Number(parts?.[1]);
    if (parts === null || keys.has(version))
      throw new MasterKeysError(`${path} has a line that is not a version and a key of ${masterKeyBytes} bytes`);
    keys.set(version, masterKey(version, Buffer.from(parts[2] ?? "", "base64")));
  }
  if (keys.size === 0) throw new MasterKeysError(`${path} has no master key`);
  return [...keys.values()];
};

/** Creates the file with a first key unless it exists. */
const makeFile = async (path: string): Promise<void> => {
  if (await exists(path)) return;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`;
  const text = formatLine(masterKey(1, randomBytes(masterKeyBytes)));
  await writeFile(draft, text, { flag: "wx", mode: 0o600, flush: true });
  try {
    // A link fails if the name exists, so that one of two starts creates the file, and never with half a key.
    await link(draft, path);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  } finally {
    await rm(draft, { force: true });
  }
};

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    (error: unknown) => {
      if (hasCode(error, "ENOENT")) return false;
      throw error;
    },
  );

/** Makes a file's content, or a directory's names, durable. */
const syncSync = (path: string): void => {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};
