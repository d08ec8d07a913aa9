/*
 * Goal: whenever the process is killed under a mixed load of all kinds of writes, each answered one is there, whole,
 * listed and equal by hash, the one in progress is there whole or not at all, and no file is left over after the sweep.
 * 12 rounds of kill and start on one directory, 300 under `npm run soak`.
 */
import { join } from "node:path";

import { expect, test } from "vitest";

import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { rounds } from "../../support/rounds.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { startProcess } from "../harness.ts";
import { leaksOf } from "./leaks.ts";
import type { Thing } from "./mixed-load.ts";
import { prepareLoad, thingsOf } from "./mixed-load.ts";
import { openCrashService } from "./service.ts";

type ObjectStorageProcess = Awaited<ReturnType<typeof startProcess>>;

const kills = rounds(12, 300);
const writers = 4;

/** Generations of a thing: the last one that was answered, and the last one that was sent. */
interface Progress {
  readonly thing: Thing;
  answered: number;
  sent: number;
}

/** Writes the next generation of each thing in turn, until the service is gone. */
const write = async (
  service: ObjectStorageProcess,
  share: Progress[],
  isKilled: () => boolean,
  onAnswer: () => void,
): Promise<void> => {
  for (let next = 0; ; next += 1) {
    const progress = share[next % share.length]!;
    progress.sent = progress.answered + 1;
    try {
      await progress.thing.write(service.client, progress.sent);
    } catch (error) {
      if (isKilled()) return;
      throw error;
    }
    progress.answered = progress.sent;
    onAnswer();
  }
};

test(
  `${kills} kills under a mixed load lose no answered write and leave no file`,
  { timeout: kills * 30_000 },
  async () => {
    const dataDir = await temporaryDirectory();
    let service = await startProcess(dataDir);
    await prepareLoad(service.client);
    const shares = thingsOf(writers).map((things) => things.map((thing) => ({ thing, answered: 0, sent: 0 })));
    let total = 0;

    for (let round = 0; round < kills; round += 1) {
      let answered = 0;
      const wanted = 3 + ((round * 37) % 40);
      let isKilled = false;
      const writing = Promise.all(
        shares.map((share) =>
          write(
            service,
            share,
            () => isKilled,
            () => (answered += 1),
          ),
        ),
      );
      await eventually(() => answered >= wanted, "the writers are at work");
      isKilled = true;
      await service.kill();
      await writing;
      total += answered;

      service = await startProcess(dataDir);
      for (const progress of shares.flat()) {
        const { thing } = progress;
        const seen = `${thing.name}: ${await thing.read(service.client)}`;
        const allowed = [progress.answered, progress.sent].map((number) => `${thing.name}: ${thing.stateOf(number)}`);
        expect(allowed).toContain(seen);
        progress.answered = seen === allowed[0] ? progress.answered : progress.sent;
      }
    }
    await service.kill();

    const directory = join(dataDir, "object-storage");
    const reopened = await openCrashService(directory, new FakeClock(Date.now()), false);
    try {
      expect(await leaksOf(reopened)).toEqual([]);
    } finally {
      await reopened.stop();
    }
    expect(total).toBeGreaterThan(kills * 15);
  },
);
