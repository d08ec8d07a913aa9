import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** The keys that wrap all others, by version. New ones are wrapped with the latest; older ones still unwrap. */
export interface MasterKeys {
  readonly latest: number;
  /** 32 bytes; undefined for a version that is not there. */
  find(version: number): Buffer | undefined;
}

export const masterKeyBytes = 32;

/** A file of master keys that cannot be used. The message quotes nothing of it. */
export class MasterKeysError extends Error {
  override readonly name = "MasterKeysError";
}

/** Master keys that are given, by version counted from 1. */
export const fixedMasterKeys = (keys: ReadonlyMap<number, Uint8Array>): MasterKeys => {
  const copies = new Map([...keys].map(([version, key]) => [version, Buffer.from(key)]));
  if (copies.size === 0) throw new MasterKeysError("there is no master key");
  return { latest: Math.max(...copies.keys()), find: (version) => copies.get(version) };
};

/**
 * Reads a file of master keys, or makes one with a first key and mode 0600. A line is `<version> <base64 of 32 bytes>`.
 * Losing the file loses everything that is wrapped, so one that cannot be read is never replaced. Throws MasterKeysError.
 */
export const openMasterKeys = async (path: string): Promise<MasterKeys> => {
  const existing = await findText(path);
  if (existing !== undefined) return parse(path, existing);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporaryPath = await writeTemporary(path, formatLine(1, randomBytes(masterKeyBytes)));
  try {
    // A link is refused when the name is taken, so that of two starts one makes the file.
    await link(temporaryPath, path);
  } catch (error) {
    if ((await findText(path)) === undefined) throw error;
  } finally {
    await rm(temporaryPath, { force: true });
  }
  return parse(path, (await findText(path)) ?? "");
};

/** Adds a key that becomes the latest. What older ones have wrapped can still be opened. */
export const addMasterKey = async (path: string): Promise<MasterKeys> => {
  const text = (await findText(path)) ?? "";
  const { latest } = parse(path, text);
  const separator = text === "" || text.endsWith("\n") ? "" : "\n";
  const next = `${text}${separator}${formatLine(latest + 1, randomBytes(masterKeyBytes))}`;
  await rename(await writeTemporary(path, next), path);
  return parse(path, next);
};

const formatLine = (version: number, key: Buffer): string => `${version} ${key.toString("base64")}\n`;

const parse = (path: string, text: string): MasterKeys => {
  const keys = new Map<number, Buffer>();
  for (const line of text.split("\n").filter((each) => each.trim() !== "")) {
    const parts = /^([1-9]\d{0,8}) ([A-Za-z0-9+/]{43}=)$/.exec(line.trim());
    const version = Number(parts?.[1]);
    if (parts === null || keys.has(version))
      throw new MasterKeysError(`${path} has a line that is not a version and a key of ${masterKeyBytes} bytes`);
    keys.set(version, Buffer.from(parts[2] ?? "", "base64"));
  }
  if (keys.size === 0) throw new MasterKeysError(`${path} has no master key`);
  return fixedMasterKeys(keys);
};

const findText = async (path: string): Promise<string | undefined> => {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
};

const writeTemporary = async (path: string, text: string): Promise<string> => {
  const temporaryPath = `${path}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`;
  await writeFile(temporaryPath, text, { flag: "wx", mode: 0o600, flush: true });
  return temporaryPath;
};
