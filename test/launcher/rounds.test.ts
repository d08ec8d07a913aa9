/*
 * Goal: whichever process is killed or stopped at whatever moment, each write that was answered is there after it has
 * recovered, and none is there in part. Method: writers change things of all four services through the gateway, each
 * thing one generation after the other; each round kills a random process or stops it for a moment, waits until all
 * serve again, and reads everything; events must have reached an endpoint. 3 rounds, KILL_ROUNDS (2,000) under `npm run
 * soak`. KILL_SEED chooses other processes and moments.
 */
import { setTimeout as delay } from "node:timers/promises";

import { expect, onTestFinished, test } from "vitest";

import { isServing } from "../../services/launcher/health-probe.ts";
import { processNames } from "../../services/launcher/processes.ts";
import { seededRandom } from "../kit/store/seeded-random.ts";
import { eventually } from "../support/eventually.ts";
import { startHttpReceiver } from "../support/http-receiver.ts";
import { rounds } from "../support/rounds.ts";
import type { System } from "../support/system.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import type { Writable } from "./mixed-writes.ts";
import { prepareWritables } from "./mixed-writes.ts";

const roundsCount = rounds(3, Number(process.env["KILL_ROUNDS"] ?? 2_000));
const seed = Number(process.env["KILL_SEED"] ?? 20_261_121);
const writers = 8;

/** The generations of a thing: the last one that was answered, and the last one that was sent. */
interface Progress {
  readonly writable: Writable;
  answered: number;
  sent: number;
}

interface Tally {
  answered: number;
  failed: number;
}

/** Writes to its share, one thing after the other, until it is told to stop. */
const write = async (share: readonly Progress[], tally: Tally, isOver: () => boolean): Promise<void> => {
  for (let next = 0; !isOver(); next += 1) {
    const progress = share[next % share.length]!;
    // A write that was not answered is sent again as it was.
    const generation = progress.answered + 1;
    progress.sent = generation;
    try {
      await progress.writable.write(generation);
      progress.answered = generation;
      tally.answered += 1;
    } catch {
      tally.failed += 1;
      // A process that is gone refuses at once.
      await delay(20);
    }
  }
};

const allServe = async ({ installation }: System): Promise<boolean> => {
  const questions = processNames.map((name) => ({ urls: installation.urls(name), tls: undefined, limitMs: 2_000 }));
  return (await Promise.all(questions.map((question) => isServing(question)))).every(Boolean);
};

test(
  "no process that is killed or stopped loses an answered write or leaves half a one",
  async () => {
    const system = await startSystem(await temporaryDirectory(), "silent");
    onTestFinished(() => system.stop());
    const endpoint = await startHttpReceiver();
    onTestFinished(() => endpoint.close());
    const writables = await prepareWritables(system, endpoint, 8);
    const all: Progress[] = writables.map((writable) => ({ writable, answered: 1, sent: 1 }));
    const random = seededRandom(seed);
    process.stdout.write(`KILL_SEED=${seed}\n`);
    const tally: Tally = { answered: 0, failed: 0 };
    const faults: Record<string, number> = {};
    const startedMs = Date.now();

    for (let round = 0; round < roundsCount; round += 1) {
      const name = random.pick(processNames);
      const isKill = random.chance(0.6);
      const answersBefore = tally.answered + 20 + random.below(100);
      const pauseMs = 50 + random.below(500);
      let isOver = false;
      const shares = Array.from({ length: writers }, (_, writer) => all.filter((_each, at) => at % writers === writer));
      const writing = Promise.all(shares.map((share) => write(share, tally, () => isOver)));
      await eventually(() => tally.answered >= answersBefore, "the writers are at work");

      const pid = system.installation.pid(name)!;
      process.kill(pid, isKill ? "SIGKILL" : "SIGSTOP");
      if (isKill)
        await eventually(() => ![pid, undefined].includes(system.installation.pid(name)), `${name} is restarted`);
      else {
        await delay(pauseMs);
        process.kill(pid, "SIGCONT");
      }
      await eventually(() => allServe(system), "all processes serve again");
      isOver = true;
      await writing;

      for (const { writable, answered, sent } of all) {
        const stored = await eventually(() => writable.read(), `${writable.name} is read`);
        expect([round, writable.name, stored, stored >= answered && stored <= sent]).toEqual([
          round,
          writable.name,
          stored,
          true,
        ]);
      }
      const fault = `${isKill ? "kill" : "stop"} ${name}`;
      faults[fault] = (faults[fault] ?? 0) + 1;
    }
    const seconds = Math.round((Date.now() - startedMs) / 1_000);
    process.stdout.write(`${JSON.stringify({ rounds: roundsCount, seconds, ...tally, faults })}\n`);
    expect(tally.answered).toBeGreaterThan(roundsCount * 20);
  },
  120_000 + roundsCount * 30_000,
);
