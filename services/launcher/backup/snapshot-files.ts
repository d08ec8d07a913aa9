import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

import * as z from "zod";

import type { Damage } from "../../kit/backup/stored-data.ts";
import { parseJson } from "../../kit/json/parse-json.ts";

const part = z.object({
  /** The version of the form of its data. */
  format: z.int().min(1),
  records: z.int(),
  recordBytes: z.int(),
  files: z.int(),
  fileBytes: z.int(),
  damages: z.array(z.object({ subject: z.string(), reason: z.string() })),
});

const manifest = z.object({
  backup: z.literal(1),
  /** The version of the program that wrote it. */
  program: z.string(),
  createTime: z.string(),
  hasSecrets: z.boolean(),
  processes: z.record(z.string(), part),
});

/** What a snapshot says of itself. */
export type Manifest = z.infer<typeof manifest>;

const manifestFile = "manifest.json";
/** In the form of `sha256sum`, which can check it too. */
const sumsFile = "SHA256SUMS";

/** Completes a snapshot: its manifest, and the sums of all its files. Both are durable when this resolves. */
export const completeSnapshot = async (directory: string, content: Manifest): Promise<void> => {
  await writeDurably(join(directory, manifestFile), `${JSON.stringify(content, undefined, 2)}\n`);
  const lines: string[] = [];
  for (const name of (await readdir(directory)).toSorted())
    lines.push(`${await sumOf(join(directory, name))}  ${name}\n`);
  await writeDurably(join(directory, sumsFile), lines.join(""));
};

/** Reads the manifest of a snapshot. Throws if it is not one of this version. */
export const readManifest = async (directory: string): Promise<Manifest> => {
  const parsed = manifest.safeParse(parseJson(await readFile(join(directory, manifestFile), "utf8")));
  if (!parsed.success) throw new Error(`${join(directory, manifestFile)} is not the manifest of a backup`);
  return parsed.data;
};

/** Reads all files of a snapshot and compares their sums. */
export const verifySums = async (directory: string): Promise<readonly Damage[]> => {
  const names = new Set((await readdir(directory)).filter((name) => name !== sumsFile));
  const text = await readFile(join(directory, sumsFile), "utf8").catch(() => "");
  const damages: Damage[] = [];
  if (!text.endsWith("\n")) damages.push({ subject: sumsFile, reason: "it is missing or was cut off" });
  for (const line of text.split("\n").slice(0, -1)) {
    const [, sum, name = ""] = /^([0-9a-f]{64}) {2}(.+)$/.exec(line) ?? [];
    if (sum === undefined) damages.push({ subject: sumsFile, reason: "a line of it is no sum" });
    else if (!names.delete(name)) damages.push({ subject: name, reason: "the file is missing" });
    else if ((await sumOf(join(directory, name))) !== sum)
      damages.push({ subject: name, reason: "its SHA-256 is another one" });
  }
  return [...damages, ...[...names].map((name) => ({ subject: name, reason: "SHA256SUMS does not name it" }))];
};

const sumOf = async (path: string): Promise<string> => {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
};

/** Writes a new file, readable by its owner, that survives a power loss. */
export const writeDurably = async (path: string, content: string | Uint8Array): Promise<void> => {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
};
