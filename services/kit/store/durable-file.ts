import { closeSync, fdatasync, openSync, writeSync } from "node:fs";
import { open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { crc32 } from "node:zlib";

import type { GroupMark } from "./group-mark.ts";
import { decodeGroupMark, encodeGroupMark, groupMarkBytes } from "./group-mark.ts";

/**
 * The file `durable` in a database's directory: the number of a group that was durable, kept where damage to the
 * database's own files does not reach it. Every later state of the database has that group. Two slots in different
 * sectors are overwritten in turn, so that a write that is cut off leaves the other one. A slot holds:
 *
 * | bytes | what                                       |
 * |-------|--------------------------------------------|
 * | 8     | `quartet1`                                 |
 * | 16    | the group's number and time, big-endian    |
 * | 4     | CRC-32 of these, big-endian                |
 */
const fileName = "durable";
const signature = Buffer.from("quartet1");
const checksumOffset = signature.byteLength + groupMarkBytes;
const slotBytes = checksumOffset + 4;
const slotOffsets = [0, 512] as const;
const fileBytes = 1024;

const syncData = promisify(fdatasync);

/** Reads the file in a database's directory; the newest valid slot counts. */
export const readDurable = async (directory: string): Promise<GroupMark | "missing" | "damaged"> => {
  try {
    return newestSlot(await readFile(join(directory, fileName)))?.group ?? "damaged";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "missing";
    throw error;
  }
};

/**
 * Creates or replaces the file, whole or not at all. With `sync` it survives a power loss once the directory is synced.
 */
export const createDurable = async (directory: string, group: GroupMark, sync: boolean): Promise<void> => {
  const path = join(directory, fileName);
  const content = Buffer.alloc(fileBytes);
  for (const offset of slotOffsets) encodeSlot(group).copy(content, offset);
  await rm(`${path}.new`, { force: true });
  const handle = await open(`${path}.new`, "wx");
  try {
    await handle.writeFile(content);
    if (sync) await handle.datasync();
  } finally {
    await handle.close();
  }
  await rename(`${path}.new`, path);
};

/** The file of a database that is open. */
export class DurableFile {
  readonly #descriptor: number;
  #slot: number;

  private constructor(descriptor: number, slot: number) {
    this.#descriptor = descriptor;
    this.#slot = slot;
  }

  /** Opens a file that `readDurable` found valid. */
  static async open(directory: string): Promise<DurableFile> {
    const path = join(directory, fileName);
    const newest = newestSlot(await readFile(path));
    return new DurableFile(openSync(path, "r+"), newest?.slot === 0 ? 1 : 0);
  }

  /** Overwrites the older slot, which survives a kill at once and a power loss after `sync`. Takes microseconds. */
  write(group: GroupMark): void {
    writeSync(this.#descriptor, encodeSlot(group), 0, slotBytes, slotOffsets[this.#slot] as number);
    this.#slot = 1 - this.#slot;
  }

  sync(): Promise<void> {
    return syncData(this.#descriptor);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

const encodeSlot = (group: GroupMark): Buffer => {
  const content = Buffer.concat([signature, encodeGroupMark(group)]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(content));
  return Buffer.concat([content, checksum]);
};

const decodeSlot = (slot: Buffer): GroupMark | undefined => {
  const content = slot.subarray(0, checksumOffset);
  if (slot.byteLength < slotBytes || slot.readUInt32BE(checksumOffset) !== crc32(content)) return undefined;
  if (!content.subarray(0, signature.byteLength).equals(signature)) return undefined;
  return decodeGroupMark(content.subarray(signature.byteLength));
};

const newestSlot = (file: Buffer): { readonly slot: number; readonly group: GroupMark } | undefined => {
  const slots = slotOffsets.flatMap((offset, slot) => {
    const group = decodeSlot(file.subarray(offset, offset + slotBytes));
    return group === undefined ? [] : [{ slot, group }];
  });
  return slots.toSorted((left, right) => right.group.number - left.group.number)[0];
};
