import { readdir } from "node:fs/promises";
import { join } from "node:path";

import { blobs } from "../../../services/object-storage/store/layout.ts";
import { sweepBlobs } from "../../../services/object-storage/work/blob-sweep.ts";
import { scrubRecords } from "../../../services/object-storage/work/scrub-records.ts";
import type { CrashService } from "./service.ts";

/** What is left after the sweep: files without a record, records without a file, and wrong counts of references. */
export const leaksOf = async ({ opened, clock, directory }: CrashService): Promise<string[]> => {
  const hoursMs = 2 * 60 * 60 * 1000;
  clock.set(Math.max(clock.now(), Date.now()) + hoursMs);
  const { missing } = await sweepBlobs(opened.sweep);
  const files = await readdir(join(directory, "blobs"), { recursive: true, withFileTypes: true });
  const names = new Set(files.filter((entry) => entry.isFile()).map((entry) => entry.name));
  const records = await opened.app.store.read(async (reader) =>
    (await Array.fromAsync(reader.range(blobs, {}))).flatMap(({ key, value }) =>
      value.inlineBody === undefined ? [key[0]] : [],
    ),
  );
  const pace = { spend: async (): Promise<void> => undefined };
  const { damages } = await scrubRecords(opened.app.store, pace, new AbortController().signal);
  return [
    ...missing.map((blobId) => `no file ${blobId}`),
    ...[...names].filter((name) => !records.includes(name)).map((name) => `no record of ${name}`),
    ...damages.map((damage) => `damage ${JSON.stringify(damage)}`),
  ];
};
