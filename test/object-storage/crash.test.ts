import { createHash } from "node:crypto";

import { describe, expect, test } from "vitest";

import { rounds } from "../support/rounds.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { startProcess } from "./harness.ts";

type ObjectStorageProcess = Awaited<ReturnType<typeof startProcess>>;

const kills = rounds(3, 30);
const writers = 8;
const putsPerRound = 60;
const sizes = [0, 1, 4_000, 65_536, 65_537, 300_000, 1_500_000];

/** What the nth put of a key stores: any two differ, and a whole one can be told from a torn one. */
const contentOf = (key: string, generation: number): Buffer => {
  const size = sizes[createHash("md5").update(`${key}/${generation}`).digest().readUInt16BE() % sizes.length] ?? 0;
  const head = Buffer.from(`${generation}\n`);
  return Buffer.concat([head, Buffer.alloc(size, createHash("sha256").update(`${key} ${generation}`).digest())]);
};

/** Generations of each key: the last one that was answered, and the last one that was sent. */
interface Progress {
  answered: number;
  sent: number;
}

async function* messages(key: string, content: Buffer) {
  yield { bucket: "photos", key };
  for (let at = 0; at < content.length; at += 65_536) yield { body: content.subarray(at, at + 65_536) };
}

/** Puts one key after the other, again and again, until the service is gone. */
const write = async (
  service: ObjectStorageProcess,
  share: Map<string, Progress>,
  onAnswer: () => void,
): Promise<void> => {
  for (;;)
    for (const [key, progress] of share) {
      const generation = (progress.sent += 1);
      try {
        await service.client.putObject(messages(key, contentOf(key, generation)));
      } catch {
        return;
      }
      progress.answered = generation;
      onAnswer();
    }
};

const read = async (service: ObjectStorageProcess, key: string): Promise<Buffer> => {
  const pieces: Uint8Array[] = [];
  for await (const { body } of service.client.getObject({ bucket: "photos", key })) pieces.push(body);
  return Buffer.concat(pieces);
};

const listAll = async (service: ObjectStorageProcess): Promise<string[]> => {
  const keys: string[] = [];
  for (let continuationToken: string | undefined; ;) {
    const page = await service.client.listObjectsV2({ bucket: "photos", continuationToken });
    keys.push(...page.contents.map((object) => object.key ?? ""));
    continuationToken = page.nextContinuationToken;
    if (continuationToken === undefined) return keys;
  }
};

describe("when the service is killed while it stores objects", () => {
  test("every answered one is there, whole and listed, and none is torn", { timeout: kills * 20_000 }, async () => {
    const dataDir = await temporaryDirectory();
    let service = await startProcess(dataDir);
    await service.client.createBucket({ bucket: "photos" });
    const shares = Array.from(
      { length: writers },
      (_none, writer) =>
        new Map(Array.from({ length: 15 }, (_each, index) => [`${writer}/${index}`, { answered: 0, sent: 0 }])),
    );

    for (let round = 0; round < kills; round += 1) {
      let answered = 0;
      const writing = Promise.all(shares.map((share) => write(service, share, () => (answered += 1))));
      await expect.poll(() => answered >= putsPerRound, { timeout: 15_000, interval: 1 }).toBe(true);
      await service.kill();
      await writing;

      service = await startProcess(dataDir);
      const listed = new Set(await listAll(service));
      for (const [key, progress] of shares.flatMap((share) => [...share])) {
        expect([key, progress.answered > 0 && !listed.has(key)]).toEqual([key, false]);
        const content = listed.has(key) ? await read(service, key) : Buffer.from("0\n");
        const generation = Number(content.subarray(0, 10).toString().split("\n")[0]);
        expect(generation).toBeGreaterThanOrEqual(progress.answered);
        expect(generation).toBeLessThanOrEqual(progress.sent);
        expect([key, generation > 0 && !content.equals(contentOf(key, generation))]).toEqual([key, false]);
      }
    }
  });
});
