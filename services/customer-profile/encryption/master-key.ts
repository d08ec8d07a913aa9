import { randomBytes } from "node:crypto";
import { link, mkdir, open, readFile, unlink } from "node:fs/promises";
import { dirname } from "node:path";

import { keyBytes } from "./envelope.ts";

/**
 * Reads the service's master key, 32 bytes in a file that only the service's user may read (mode 0600). Makes it when
 * there is none and nothing is encrypted yet: written and synced under another name first, so that half a key is never
 * found. Throws when the file holds something else or is missing, because nothing can be read under another key.
 */
export const loadMasterKey = async (path: string, isDataEncrypted: boolean): Promise<Uint8Array> => {
  const existing = await findKey(path);
  if (existing !== undefined) return existing;
  if (isDataEncrypted)
    throw new Error(`the master key ${path} is missing; without it the stored profiles cannot be read`);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(8).toString("hex")}.draft`;
  await writeSynced(draft, randomBytes(keyBytes));
  // A link, unlike a rename, does not replace the key that another process made in the meantime.
  await link(draft, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  await unlink(draft);
  await syncDirectory(dirname(path));
  const made = await findKey(path);
  if (made === undefined) throw new Error(`the master key ${path} cannot be made`);
  return made;
};

const findKey = async (path: string): Promise<Uint8Array | undefined> => {
  let content: Buffer;
  try {
    content = await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  if (content.byteLength !== keyBytes) throw new Error(`${path} is no master key: it must hold ${keyBytes} bytes`);
  return content;
};

const writeSynced = async (path: string, content: Uint8Array): Promise<void> => {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
};

const syncDirectory = async (path: string): Promise<void> => {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
};
