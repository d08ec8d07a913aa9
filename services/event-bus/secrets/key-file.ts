import { randomBytes } from "node:crypto";
import { link, mkdir, open, readFile, unlink } from "node:fs/promises";
import { dirname } from "node:path";

/** Bytes of a key. */
export const keyBytes = 32;

/**
 * The key in a file that only the service's user may read (mode 0600); made on first use. Throws when the file holds
 * something else, because no secret could be read under another key.
 */
export const loadKeyFile = async (path: string): Promise<Uint8Array> => {
  const present = await findKey(path);
  if (present !== undefined) return present;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(8).toString("hex")}.draft`;
  await writeSynced(draft, randomBytes(keyBytes));
  // A link does not replace a key that somebody else made in the meantime, and never shows half a key.
  await link(draft, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  await unlink(draft);
  await syncDirectory(dirname(path));
  const made = await findKey(path);
  if (made === undefined) throw new Error(`the key file ${path} cannot be made`);
  return made;
};

const findKey = async (path: string): Promise<Uint8Array | undefined> => {
  const content = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (content !== undefined && content.byteLength !== keyBytes)
    throw new Error(`${path} is no key file: it must hold ${keyBytes} bytes`);
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
