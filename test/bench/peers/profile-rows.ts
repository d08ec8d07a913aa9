import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Level } from "level";

import type { ProfileKind } from "./profile-clients.ts";
import { playPeer } from "./peer.ts";

/** Bytes of the keys and values that a call writes, or of a search reads: the service's own rows. */
const rowsOf: Readonly<Record<ProfileKind, readonly (readonly [keyBytes: number, valueBytes: number])[]>> = {
  create: [
    [7, 16],
    [36, 39],
    [36, 248],
    [44, 5],
    [36, 23],
    [36, 23],
    [36, 23],
    [53, 7],
    [19, 14],
  ],
  object: [
    [7, 16],
    [36, 39],
    [36, 224],
    [44, 5],
    [36, 23],
    [36, 23],
    [86, 105],
    [69, 23],
    [77, 23],
    [19, 14],
  ],
  search: [
    [36, 23],
    [36, 248],
    [36, 39],
  ],
};

const callers = 16;
const rows = rowsOf[(process.argv[2] ?? "") as ProfileKind];
const directory = await mkdtemp(join(tmpdir(), "quartet-bench-"));
const database = new Level<Buffer, Buffer>(directory, { keyEncoding: "buffer", valueEncoding: "buffer" });
const known = rows.map(([keyBytes]) => randomBytes(keyBytes));

const write = (sync: boolean, keys = rows.map(([keyBytes]) => randomBytes(keyBytes))): Promise<void> => {
  const batch = database.batch();
  for (const [index, [, valueBytes]] of rows.entries()) batch.put(keys[index]!, randomBytes(valueBytes));
  return batch.write({ sync });
};

const read = (): void => {
  for (const key of known) if (database.getSync(key) === undefined) throw new Error("a row is missing");
};

const start = async (): Promise<string> => {
  await database.open();
  await write(false, known);
  return "";
};

const run = async (_address: string, _ms: number, callsMax = 0): Promise<number> => {
  let calls = 0;
  const callOn = async (): Promise<void> => {
    while (calls++ < callsMax) await (process.argv[2] === "search" ? read() : write(true));
  };
  await Promise.all(Array.from({ length: callers }, callOn));
  return callsMax;
};

process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
playPeer({ start, run });
