/*
 * Goal: whichever process is killed or stopped at whatever moment, each write that was answered is there after it has
 * recovered, and none is there in part. Method: kill-rounds.ts. 15 rounds, KILL_ROUNDS (2,000) under `npm run soak`.
 * KILL_SEED chooses other moments.
 */
import { expect, test } from "vitest";

import { rounds } from "../support/rounds.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { runKillRounds } from "./kill-rounds.ts";

const roundsCount = rounds(15, Number(process.env["KILL_ROUNDS"] ?? 2_000));
const seed = Number(process.env["KILL_SEED"] ?? 20_261_121);

test(
  "no process that is killed or stopped loses an answered write or leaves half a one",
  async () => {
    process.stdout.write(`KILL_SEED=${seed}\n`);
    const options = { seed, rounds: roundsCount, seconds: Infinity, killPercent: 40 };
    const { counts, faults, findings } = await runKillRounds(await temporaryDirectory(), options);
    process.stdout.write(`${JSON.stringify({ ...counts, faults })}\n`);
    expect(findings).toEqual([]);
    expect(counts.rounds).toBeGreaterThanOrEqual(roundsCount);
    expect(Math.min(counts.kills, counts.stops)).toBeGreaterThan(0);
    expect(counts.answered).toBeGreaterThan(roundsCount);
  },
  180_000 + roundsCount * 10_000,
);
