/*
 * Goal: whatever two accounts do with their buckets through the official SDK, every answer is the one that a simple
 * model says. Method: random operations, one after the other, of the families below; 3,000 of them, 100,000 under
 * `npm run soak`. QUARTET_SEED chooses others.
 */
import { expect, test } from "vitest";

import { seededRandom } from "../../kit/store/seeded-random.ts";
import { rounds } from "../../support/rounds.ts";
import { startSystem } from "../../support/system.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { Walk } from "./walk.ts";
import { compareAll, families, makeStep, prepareWalk } from "./walker.ts";

const steps = rounds(3_000, 100_000);
const seed = Number(process.env["QUARTET_SEED"] ?? Date.now() % 1_000_000_000);
const accounts = { shop: "111122223333", bank: "444455556666" };
const secretOf = (name: string): string => `${name}'s own secret of the walk`;

test(
  `${steps} random operations of two accounts are answered as a simple model says`,
  async () => {
    process.stdout.write(`QUARTET_SEED=${seed}\n`);
    const declared = Object.entries(accounts).map(([name, id]) => [
      id,
      { accessKeys: [{ id: `QKIA${name.toUpperCase()}`, secret: secretOf(name) }] },
    ]);
    const configuration = { accounts: Object.fromEntries(declared) as object };
    const system = await startSystem(await temporaryDirectory(), "silent", { configuration });
    try {
      const client = (name: string) => system.clientsFor(`QKIA${name.toUpperCase()}`, secretOf(name)).objectStorage;
      const walk = new Walk(seededRandom(seed), { shop: client("shop"), bank: client("bank") }, accounts);
      await prepareWalk(walk);
      const counts = Object.fromEntries(Object.keys(families).map((family) => [family, 0]));
      for (let step = 0; step < steps; step += 1) {
        const { did, family, seen, expected } = await makeStep(walk);
        expect({ seed, step, did, seen }).toEqual({ seed, step, did, seen: expected });
        counts[family] = (counts[family] ?? 0) + 1;
      }
      for (const { did, seen, expected } of await compareAll(walk)) expect([did, seen]).toEqual([did, expected]);
      process.stdout.write(`${JSON.stringify(counts)}\n`);
      expect(Math.min(...Object.values(counts))).toBeGreaterThan(0);
    } finally {
      await system.stop();
    }
  },
  180_000 + steps * 200,
);
