/*
 * Goal: very many small objects that are put, replaced and deleted leave little behind: in the database, in files and
 * among open files. Method: each object is put once and two of three are replaced or deleted, over a set of keys that
 * stays the same size; then the space is compared with what is stored. 50,000 puts and deletes, 2,000,000 under
 * `npm run soak`.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { seededRandom } from "../kit/store/seeded-random.ts";
import { rounds } from "../support/rounds.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { startProcess } from "./harness.ts";

const operations = rounds(50_000, 2_000_000);
const callers = 64;
const keyCount = 10_000;
const bodyBytes = 1_000;
/** Of the database's files over the content that is stored, at their peak. */
const amplificationMax = 4;
const openFilesMax = 400;

/** The bytes and the number of the files in a directory, at an instant. */
const filesOf = async (directory: string): Promise<{ bytes: number; files: number }> => {
  let [bytes, files] = [0, 0];
  for (const name of await readdir(directory)) {
    // A file may be merged into another one meanwhile.
    const found = await stat(join(directory, name)).catch(() => undefined);
    if (found === undefined) continue;
    bytes += found.size;
    files += 1;
  }
  return { bytes, files };
};

test(
  `${operations} puts and deletes of small objects leave little more than what is stored`,
  async () => {
    const dataDir = await temporaryDirectory();
    const service = await startProcess(dataDir);
    await service.client.createBucket({ bucket: "small" });
    const random = seededRandom(11);
    const body = Buffer.alloc(bodyBytes, "small object; ");
    const stored = new Map<string, number>();
    let [done, peakBytes, peakOpen] = [0, 0, 0];
    async function* message(key: string, number: number) {
      yield { bucket: "small", key, contentLength: BigInt(bodyBytes), body: body.fill(`${number};`, 0, 10) };
    }
    const begun = performance.now();
    await Promise.all(
      Array.from({ length: callers }, async (_none, caller) => {
        while (done < operations) {
          done += 1;
          const number = done;
          // Each caller has keys of its own, so that the last change of a key is known.
          const key = `key ${caller + callers * random.below(keyCount / callers)}`;
          if (stored.has(key) && random.chance(0.4)) {
            await service.client.deleteObject({ bucket: "small", key });
            stored.delete(key);
          } else {
            await service.client.putObject(message(key, number));
            stored.set(key, number);
          }
          if (number % 5_000 === 0) {
            const { bytes } = await filesOf(join(dataDir, "object-storage", "leveldb"));
            peakBytes = Math.max(peakBytes, bytes);
            peakOpen = Math.max(peakOpen, (await readdir(`/proc/${service.pid}/fd`)).length);
          }
        }
      }),
    );
    const seconds = (performance.now() - begun) / 1_000;
    const contentBytes = stored.size * bodyBytes;
    const left = await filesOf(join(dataDir, "object-storage", "leveldb"));
    const io = await readFile(`/proc/${service.pid}/io`, "utf8");
    const writtenBytes = Number(/wchar: (\d+)/.exec(io)?.[1]);
    const figures = {
      operationsPerSecond: Math.round(operations / seconds),
      stored: stored.size,
      writtenPerOperationBytes: Math.round(writtenBytes / operations),
      databaseMebibytes: Math.round(left.bytes / 1024 / 1024),
      peakMebibytes: Math.round(peakBytes / 1024 / 1024),
      files: left.files,
      peakOpen,
    };
    process.stdout.write(`${JSON.stringify(figures)}\n`);
    const listed = await service.client.listObjectsV2({ bucket: "small", maxKeys: 1_000 });
    expect(listed.contents.every(({ key = "" }) => stored.has(key))).toBe(true);
    // Two write buffers of 16 MiB and their logs are there whatever is stored.
    expect(peakBytes).toBeLessThan(contentBytes * amplificationMax + 64 * 1024 * 1024);
    expect(peakOpen).toBeLessThan(openFilesMax);
  },
  rounds(600_000, 7_200_000),
);
