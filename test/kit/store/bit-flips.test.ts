import { cp } from "node:fs/promises";
import { join } from "node:path";

import { Level } from "level";
import { describe, expect, test } from "vitest";

import { rounds } from "../../support/rounds.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import type { Behaviour } from "./damaged-copies.ts";
import { behaviourOf, copyWithFlip, fileKinds, writeSample } from "./damaged-copies.ts";
import { seededRandom } from "./seeded-random.ts";

const kinds = Object.keys(fileKinds) as (keyof typeof fileKinds)[];

describe("a database of which one bit is flipped", () => {
  test.each(kinds)(
    "in its %s is whole or refused, and never silently something else",
    async (kind) => {
      const scratch = await temporaryDirectory();
      const expected = await writeSample(join(scratch, "sample"));
      await cp(join(scratch, "sample"), join(scratch, "whole"), { recursive: true });
      expect(await behaviourOf(join(scratch, "whole"), expected)).toBe("whole");
      const random = seededRandom(29);
      const counts = new Map<Behaviour, number>();
      const silent: string[] = [];
      for (let round = 0; round < rounds(60, 1_000); round += 1) {
        const flipped = await copyWithFlip(join(scratch, "sample"), join(scratch, "copy"), kind, random);
        const behaviour = await behaviourOf(join(scratch, "copy"), expected);
        counts.set(behaviour, (counts.get(behaviour) ?? 0) + 1);
        if (behaviour === "SILENT") silent.push(flipped);
      }
      if (process.env["QUARTET_ROUNDS"] !== undefined)
        process.stdout.write(`${kind}: ${JSON.stringify([...counts])}\n`);
      expect(silent).toEqual([]);
    },
    1_800_000,
  );

  test("in its log silently lacks records when LevelDB alone opens it, or this test would prove nothing", async () => {
    const scratch = await temporaryDirectory();
    await writeSample(join(scratch, "sample"));
    await cp(join(scratch, "sample"), join(scratch, "whole"), { recursive: true });
    const whole = await countRaw(join(scratch, "whole"));
    const random = seededRandom(29);
    const counts: number[] = [];
    for (let round = 0; round < 10; round += 1) {
      await copyWithFlip(join(scratch, "sample"), join(scratch, "copy"), "log", random);
      counts.push(await countRaw(join(scratch, "copy")));
    }
    expect(Math.min(...counts)).toBeLessThan(whole);
  });
});

/** How many records LevelDB itself finds. */
const countRaw = async (directory: string): Promise<number> => {
  const database = new Level<Buffer, Buffer>(directory, { keyEncoding: "buffer", valueEncoding: "buffer" });
  const keys = await database.keys().all();
  await database.close();
  return keys.length;
};
